// SPDX-License-Identifier: Apache-2.0
#include "patterns/ring.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "patterns/partition.hpp"

namespace antiphon {

namespace {

/// All messages go between the same pairs of ranks: tags tell steps apart, those of both halves of an allreduce too.
constexpr int tags = 500;
int gather_tag(int step) { return step % tags; }
int reduce_tag(int step) { return tags + step % tags; }

/// Scratch for partial results, one slot a step. A slot is in use from the receive to the end of the send one step
/// later, so that of three slots one is always free.
class Slots {
 public:
  void allocate(Schedule& s, std::span<const Range> operands) {
    std::int64_t longest = 0;
    for (const Range& r : operands) longest = std::max(longest, r.bytes);
    for (Slot& slot : slots_) slot.range = s.scratch(longest);
  }
  [[nodiscard]] Range range(int step, std::int64_t bytes) const { return at(step).range.sub(0, bytes); }
  /// Makes the receive added last wait until its slot is free: piece by piece for the send that leaves it, and as a
  /// whole for the send before that, whose block may have been the longer one.
  void wait(Schedule& s, int step) const {
    if (at(step).free != no_op) s.after(pipelined(at(step).free));
    s.after(at(step).settled);
  }
  /// `op` sends what came in the step before this one; in step 1 that is an operand, which is in no slot.
  void sent(int step, OpId op) {
    Slot& slot = slots_[static_cast<std::size_t>(step - 1) % slots_.size()];
    slot.settled = std::exchange(slot.free, step > 1 ? op : no_op);
  }

 private:
  struct Slot {
    Range range;
    OpId free = no_op;
    OpId settled = no_op;
  };
  [[nodiscard]] const Slot& at(int step) const { return slots_[static_cast<std::size_t>(step) % slots_.size()]; }

  std::array<Slot, 3> slots_;
};

}  // namespace

std::vector<OpId> ring_allgather(Schedule& s, const Ring& ring, std::span<const Range> blocks, Dep own,
                                 std::span<const OpId> busy) {
  RingLanes lanes(ring.cut);
  return ring_allgather(s, ring, blocks, own, busy, lanes);
}

std::vector<OpId> ring_allgather(Schedule& s, const Ring& ring, std::span<const Range> blocks, Dep own,
                                 std::span<const OpId> busy, RingLanes& lanes) {
  std::vector<OpId> arrival(blocks.size(), no_op);
  Dep have = own;
  for (int step = 1; step < ring.size; ++step, ++lanes.steps) {
    const std::size_t out = ring.wrap(ring.rank - step + 1);
    const std::size_t in = ring.wrap(ring.rank - step);
    const std::int64_t start = lanes.received.end();
    if (blocks[in].bytes > 0) {
      arrival[in] = s.recv(ring.prev(), blocks[in], {}, lanes.recv_cut, gather_tag(lanes.steps + 1));
      if (!busy.empty() && busy[in] != no_op) s.after(pipelined(busy[in]));
      lanes.received.append(s);
    }
    if (blocks[out].bytes > 0) {
      s.send(ring.next(), blocks[out], {have}, lanes.send_cut, gather_tag(lanes.steps + 1));
      lanes.append_send(s, start);
    }
    have = pipelined(arrival[in]);
  }
  return arrival;
}

RingReduced ring_reduce_scatter(Schedule& s, const Ring& ring, const RingOperands& memory, OpId ready) {
  RingLanes lanes(ring.cut);
  return ring_reduce_scatter(s, ring, memory, ready, lanes);
}

RingReduced ring_reduce_scatter(Schedule& s, const Ring& ring, const RingOperands& memory, OpId ready,
                                RingLanes& lanes) {
  const std::size_t own = ring.wrap(ring.rank);
  const bool result_is_operand = memory.result == memory.operands[own];
  Slots slots;
  if (memory.landing.empty() || result_is_operand) slots.allocate(s, memory.operands);
  RingReduced done{no_op, std::vector(memory.operands.size(), no_op)};
  Range have = memory.operands[ring.wrap(ring.rank - 1)];
  OpId reduced = ready;
  for (int step = 1; step < ring.size; ++step, ++lanes.steps) {
    const std::size_t in = ring.wrap(ring.rank - step - 1);
    const bool last = step == ring.size - 1;
    const Range operand = memory.operands[in];
    const bool in_slot = last ? result_is_operand : memory.landing.empty();
    const Range land = in_slot ? slots.range(step, operand.bytes) : last ? memory.result : memory.landing[in];
    OpId received = no_op;
    const std::int64_t start = lanes.received.end();
    if (operand.bytes > 0) {
      received = s.recv(ring.prev(), land, {}, lanes.recv_cut, reduce_tag(lanes.steps + 1));
      if (in_slot) slots.wait(s, step);
      lanes.received.append(s);
    }
    if (have.bytes > 0) {
      const Dep before = step == 1 ? Dep(ready) : pipelined(reduced);
      const OpId sent = s.send(ring.next(), have, {before}, lanes.send_cut, reduce_tag(lanes.steps + 1));
      lanes.append_send(s, start);
      // With landings the block's memory is free when it is sent; with slots its operand was free when it was reduced.
      if (step == 1 || !memory.landing.empty()) done.last_use[ring.wrap(ring.rank - step)] = sent;
      slots.sent(step, sent);
    }
    if (operand.bytes > 0) {
      const auto [left, right] = last && result_is_operand ? std::pair(land, operand) : std::pair(operand, land);
      reduced = s.reduce(left, right, {pipelined(received), ready}, {ring.cut.piece_bytes, 0});
      done.last_use[in] = reduced;
    }
    have = land;
  }
  if (memory.operands[own].bytes > 0) done.result = reduced;
  return done;
}

RingReducedVector ring_reduce_vector(Schedule& s, const Ring& ring, const Problem& p, const VectorPart& part) {
  const Partition parts(part.output.bytes, p.element_bytes, p.size);
  std::vector<Range> inputs;
  std::vector<Range> outputs;
  for (int i = 0; i < p.size; ++i) {
    outputs.push_back(parts.of(part.output, i));
    inputs.push_back(p.in_place ? outputs.back() : parts.of(part.input, i));
  }
  const std::vector<Range> landing = p.in_place ? std::vector<Range>{} : outputs;
  RingReduced reduced = ring_reduce_scatter(s, ring, {inputs, landing, outputs[ring.wrap(ring.rank)]});
  return {std::move(outputs), std::move(reduced)};
}

RingReducedVector ring_reduce_vector(Schedule& s, const Ring& ring, const Problem& p) {
  return ring_reduce_vector(s, ring, p, {p.whole_input(), p.whole_output()});
}

}  // namespace antiphon
