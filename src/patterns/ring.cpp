// SPDX-License-Identifier: Apache-2.0
#include "patterns/ring.hpp"

#include <algorithm>
#include <utility>

#include "patterns/lane.hpp"
#include "patterns/partition.hpp"

namespace antiphon {

namespace {

/// All messages go between the same pairs of ranks: tags tell steps apart, those of both halves of an allreduce too.
constexpr int tags = 500;
int gather_tag(int step) { return step % tags; }
int reduce_tag(int step) { return tags + step % tags; }

/// The receives and the sends of a rank.
struct RingLanes {
  Cut recv_cut, send_cut;
  Lane received, sent;
  explicit RingLanes(const Cut& cut)
      : recv_cut{cut.piece_bytes, 2 * cut.window}, send_cut(cut), received(recv_cut), sent(send_cut) {}
};

}  // namespace

std::vector<OpId> ring_allgather(Schedule& s, const Ring& ring, std::span<const Range> blocks, Dep own,
                                 std::span<const OpId> busy) {
  RingLanes lanes(ring.cut);
  std::vector<OpId> arrival(blocks.size(), no_op);
  Dep have = own;
  for (int step = 1; step < ring.size; ++step) {
    const std::size_t out = ring.wrap(ring.rank - step + 1);
    const std::size_t in = ring.wrap(ring.rank - step);
    if (blocks[in].bytes > 0) {
      arrival[in] = s.recv(ring.prev(), blocks[in], {}, lanes.recv_cut, gather_tag(step));
      if (!busy.empty() && busy[in] != no_op) s.after(pipelined(busy[in]));
      lanes.received.append(s);
    }
    if (blocks[out].bytes > 0) {
      s.send(ring.next(), blocks[out], {have}, lanes.send_cut, gather_tag(step));
      lanes.sent.append(s);
    }
    have = pipelined(arrival[in]);
  }
  return arrival;
}

RingReduced ring_reduce_scatter(Schedule& s, const Ring& ring, const RingOperands& memory, OpId ready) {
  // A slot is in use from the receive to the end of the send one step later: a third one is always free.
  constexpr std::size_t slots = 3;
  RingLanes lanes(ring.cut);
  std::vector<Range> slot;
  std::int64_t longest = 0;
  for (const Range& r : memory.operands) longest = std::max(longest, r.bytes);
  const bool result_is_operand = memory.result == memory.operands[ring.wrap(ring.rank)];
  const bool needs_slots = memory.landing.empty() || result_is_operand;
  for (std::size_t i = 0; needs_slots && i < slots; ++i) slot.push_back(s.scratch(longest));
  std::vector<OpId> slot_free(slots, no_op);
  std::vector<OpId> slot_settled(slots, no_op);

  RingReduced done{no_op, std::vector<OpId>(memory.operands.size(), no_op)};
  Range have = memory.operands[ring.wrap(ring.rank - 1)];
  OpId reduced = ready;
  for (int step = 1; step < ring.size; ++step) {
    const std::size_t out = ring.wrap(ring.rank - step);
    const std::size_t in = ring.wrap(ring.rank - step - 1);
    const bool last = step == ring.size - 1;
    const Range operand = memory.operands[in];
    const bool in_slot = last ? result_is_operand : memory.landing.empty();
    const std::size_t index = static_cast<std::size_t>(step) % slots;
    const Range land = in_slot ? slot[index].sub(0, operand.bytes) : last ? memory.result : memory.landing[in];
    OpId received = no_op;
    if (operand.bytes > 0) {
      received =
          s.recv(ring.prev(), land, {in_slot && slot_free[index] != no_op ? pipelined(slot_free[index]) : Dep(no_op)},
                 lanes.recv_cut, reduce_tag(step));
      // The block before may have been shorter than the one before that: that one must have left the slot as a whole.
      if (in_slot) s.after(slot_settled[index]);
      lanes.received.append(s);
    }
    if (have.bytes > 0) {
      const OpId sent =
          s.send(ring.next(), have, {step == 1 ? Dep(ready) : pipelined(reduced)}, lanes.send_cut, reduce_tag(step));
      lanes.sent.append(s);
      // With landings the block's memory is free when it is sent; with slots its operand was free when it was reduced.
      if (step == 1 || !memory.landing.empty()) done.last_use[out] = sent;
      const std::size_t left = static_cast<std::size_t>(step - 1) % slots;
      slot_settled[left] = std::exchange(slot_free[left], step > 1 ? sent : no_op);
    }
    if (operand.bytes > 0) {
      const bool swapped = last && result_is_operand;
      reduced = s.reduce(swapped ? land : operand, swapped ? operand : land, {pipelined(received), ready},
                         {ring.cut.piece_bytes, 0});
      done.last_use[in] = reduced;
    }
    have = land;
  }
  done.result = reduced;
  if (memory.operands[ring.wrap(ring.rank)].bytes == 0) done.result = no_op;
  return done;
}

RingReducedVector ring_reduce_vector(Schedule& s, const Ring& ring, const Problem& p) {
  const Partition parts(p.bytes, p.element_bytes, p.size);
  std::vector<Range> inputs;
  std::vector<Range> outputs;
  for (int i = 0; i < p.size; ++i) {
    outputs.push_back(parts.of(p.whole_output(), i));
    inputs.push_back(p.in_place ? outputs.back() : parts.of(p.whole_input(), i));
  }
  const std::vector<Range> landing = p.in_place ? std::vector<Range>{} : outputs;
  RingReduced reduced = ring_reduce_scatter(s, ring, {inputs, landing, outputs[ring.wrap(p.rank)]});
  return {std::move(outputs), std::move(reduced)};
}

}  // namespace antiphon
