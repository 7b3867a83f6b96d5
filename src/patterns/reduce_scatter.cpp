// SPDX-License-Identifier: Apache-2.0
#include "patterns/reduce_scatter.hpp"

#include <algorithm>

#include "patterns/cut.hpp"
#include "patterns/halving.hpp"
#include "patterns/phases.hpp"
#include "patterns/ring.hpp"
#include "patterns/slots.hpp"

namespace antiphon {

namespace {

/// The result goes to the output when nothing reads the input any more: in place, both overlap.
void copy_to_output(Schedule& s, const Problem& p, const Range& result, OpId since, const std::vector<OpId>& readers) {
  s.copy(result, p.whole_output(), {since});
  if (!p.in_place) return;
  for (const OpId op : readers) s.after(op);
}

}  // namespace

Schedule reduce_scatter_ring(const Problem& p) {
  Schedule s;
  std::vector<Range> operands;
  for (int i = 0; i < p.size; ++i) operands.push_back(p.input_block(i));
  if (p.size == 1) {
    s.copy(operands[0], p.whole_output());
    return s;
  }
  const Range result = p.in_place ? s.scratch(p.bytes) : p.whole_output();
  const auto reduced = ring_reduce_scatter(s, {p.rank, p.size, cut_of(p)}, {operands, {}, result});
  if (p.in_place) copy_to_output(s, p, result, reduced.result, reduced.last_use);
  return s;
}

namespace {

/// This rank's result as operands come in the order rank−1 … 0, P−1 … rank+1: two runs, each built from its right end,
/// so that operations need not commute. If they do, both runs are one.
class Accumulation {
 public:
  Accumulation(Schedule& s, const Problem& p, const Cut& cut)
      : s_(s), p_(p), cut_{cut.piece_bytes, 0}, slots_(s, std::max(p.size - 1, 1), p.bytes, cut) {
    const bool two_runs = !p.commutative && p.rank < p.size - 1;
    left_.where = two_runs || p.in_place ? s.scratch(p.bytes) : p.whole_output();
    left_.since = s.copy(p.input_block(p.rank), left_.where);
    if (two_runs) right_.where = p.in_place ? s.scratch(p.bytes) : p.whole_output();
  }

  /// Where the next operand may be received, and after what.
  [[nodiscard]] Range landing(int from) const { return begins_right(from) ? right_.where : slots_.next(); }
  [[nodiscard]] Dep free(int from) const { return begins_right(from) ? Dep(no_op) : slots_.free(); }

  void add(int from, OpId received) {
    if (begins_right(from)) {
      right_.since = pipelined(received);
      return;
    }
    Partial& run = !p_.commutative && from > p_.rank ? right_ : left_;
    const OpId reduced = s_.reduce(slots_.next(), run.where, {pipelined(received), run.since}, cut_);
    run.since = pipelined(reduced);
    slots_.used_until(reduced);
  }

  /// Both runs together.
  Partial result() {
    if (right_.since.op == no_op) return left_;
    const OpId reduced = s_.reduce(left_.where, right_.where, {left_.since, right_.since}, cut_);
    return {right_.where, pipelined(reduced)};
  }

 private:
  [[nodiscard]] bool begins_right(int from) const { return !p_.commutative && from == p_.size - 1; }

  Schedule& s_;
  const Problem& p_;
  Cut cut_;
  Slots slots_;
  Partial left_, right_;
};

}  // namespace

Schedule reduce_scatter_pairwise(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p, "piece_bytes");
  PhasedExchange exchange(s, p, cut, static_cast<Sync>(p.parameter("sync")), p.parameter("token_bytes"));
  Accumulation sum(s, p, cut);
  std::vector<OpId> sends;
  for (int phase = 1; phase < p.size; ++phase) {
    const auto [to, from] = rotated_partners(p.rank, p.size, phase);
    const auto [sent, received] = exchange.add({to, p.input_block(to), from, sum.landing(from), no_op, sum.free(from)});
    sends.push_back(sent);
    if (received != no_op) sum.add(from, received);
  }
  const Partial result = sum.result();
  if (p.in_place) sends.push_back(result.since.op);
  if (result.where != p.whole_output()) copy_to_output(s, p, result.where, result.since.op, sends);
  return s;
}

Schedule reduce_scatter_halving(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p, "piece_bytes");
  const Folding folding(p.size);
  const auto end_of = [&](int i) { return p.input_block(i).offset_bytes + p.input_block(i).bytes; };
  const auto offset_of = [&](int place) {
    const int first = folding.first_rank(place);
    return first == p.size ? end_of(p.size - 1) : p.input_block(first).offset_bytes;
  };
  OpId folded = no_op;
  const Partial mine =
      fold_pairs(s, p, folding, {{Space::input, 0, offset_of(folding.acting)}, no_op, false}, cut, &folded);
  if (!folding.acts(p.rank)) {
    if (p.bytes > 0) s.recv(p.rank + 1, p.whole_output(), {folded}, cut, unfold_tag);
    return s;
  }
  const Halved halved = recursive_halving(s, p, folding, mine, HalvingOrder::far_first, offset_of, cut);
  const Partial& kept = halved.kept;
  const std::int64_t for_pair = kept.where.bytes - p.bytes;
  if (for_pair > 0) s.send(p.rank - 1, kept.where.sub(0, for_pair), {kept.since.op}, cut, unfold_tag);
  std::vector<OpId> sends;
  for (const HalvingStep& step : halved.steps) sends.push_back(step.sent);
  copy_to_output(s, p, kept.where.sub(for_pair, p.bytes), kept.since.op, sends);
  return s;
}

namespace {

int reversed_bits(int value, int below) {
  int reversed = 0;
  for (int bit = 1; bit < below; bit *= 2) reversed = 2 * reversed + ((value & bit) != 0 ? 1 : 0);
  return reversed;
}

}  // namespace

Schedule reduce_scatter_butterfly(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p, "piece_bytes");
  const Folding folding(p.size);
  const auto begin_of = [&](int rank) {
    return rank == p.size ? p.input_block(rank - 1).offset_bytes + p.input_block(rank - 1).bytes
                          : p.input_block(rank).offset_bytes;
  };
  const auto block_at = [&](int position) {
    const int place = reversed_bits(position, folding.acting);
    const std::int64_t begin = begin_of(folding.first_rank(place));
    return Range{Space::input, begin, begin_of(folding.first_rank(place + 1)) - begin};
  };
  // Blocks in the order in which halving near partners first leaves each with its own.
  std::vector<std::int64_t> offsets{0};
  for (int i = 0; i < folding.acting; ++i) offsets.push_back(offsets.back() + block_at(i).bytes);
  const Range all = s.scratch(offsets.back());
  std::vector<OpId> copies;
  for (int i = 0; i < folding.acting; ++i)
    copies.push_back(s.copy(block_at(i), all.sub(offsets[static_cast<std::size_t>(i)], block_at(i).bytes)));
  const OpId copied = s.copy({}, {});
  for (const OpId op : copies) s.after(op);
  const Partial mine = fold_pairs(s, p, folding, {all, copied}, cut);
  if (!folding.acts(p.rank)) {
    if (p.bytes > 0) s.recv(p.rank + 1, p.whole_output(), {copied}, cut, unfold_tag);
    return s;
  }
  const auto offset_of = [&](int position) { return offsets[static_cast<std::size_t>(position)]; };
  const Halved halved = recursive_halving(s, p, folding, mine, HalvingOrder::near_first, offset_of, cut);
  const Partial& kept = halved.kept;
  const std::int64_t for_pair = kept.where.bytes - p.bytes;
  if (for_pair > 0) s.send(p.rank - 1, kept.where.sub(0, for_pair), {kept.since.op}, cut, unfold_tag);
  s.copy(kept.where.sub(for_pair, p.bytes), p.whole_output(), {kept.since.op, copied});
  return s;
}

}  // namespace antiphon
