// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/halving.hpp"
#include "patterns/phases.hpp"
#include "patterns/reduce_scatter.hpp"
#include "patterns/slots.hpp"

namespace antiphon::reduce_scatter_by_pairwise {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per piece of a block; 0 sends whole blocks"},
    {"window", Role::ahead, 2, 1, PhasedExchange::all_ahead,
     "pieces a rank may be ahead of what it has received; 1024: all, also without tokens"},
    {"sync", Role::mode, 1, 0, 2,
     "between phases: 0 pacing by pieces alone, 1 a token before each long block, 2 a barrier"},
    {"token_bytes", Role::border, 32768, 0, 1 << 30, "with sync 1: blocks up to this need no token"},
};

/// This rank's result, to which operands come in the order rank−1 … 0, P−1 … rank+1: two runs, each combined from its
/// right end, so that operations need not commute. If they do, both runs are one.
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

  /// Combines both runs.
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

/// Phase i = 1…P−1: send rank+i its block, receive an operand from rank−i and reduce it, in the lock-step pieces of
/// alltoall's `rotated`. Operands come in rank order (downwards, in two runs), so any operation will do, and results do
/// not depend on timing. Cost: (P−1)·m over one link, plus a latency per window; the pacing also holds for unequal
/// blocks.
Schedule build(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p, "piece_bytes");
  PhasedExchange exchange(s, p);
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

}  // namespace

extern const Algorithm reduce_scatter{
    .collective = Collective::reduce_scatter,
    .name = "pairwise",
    .summary = "operands exchanged in rotated phases of lock-step pieces; any operation",
    .parameters = parameters,
    .build = build,
    .any_order = true,
};

extern const Algorithm reduce_scatter_block{
    .collective = Collective::reduce_scatter_block,
    .name = "pairwise",
    .summary = "operands exchanged in rotated phases of lock-step pieces; any operation",
    .parameters = parameters,
    .build = build,
    .any_order = true,
};

}  // namespace antiphon::reduce_scatter_by_pairwise
