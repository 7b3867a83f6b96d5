// SPDX-License-Identifier: Apache-2.0
#include "patterns/ring.hpp"
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/reduce_scatter.hpp"
#include "patterns/supports.hpp"

namespace antiphon::reduce_scatter_by_ring {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment; 0 passes on whole blocks"},
    {"window", Role::ahead, 8, 1, 1024, "segments a rank may be ahead of what it has received"},
};

/// A block is reduced on its way round the ring to its rank, segment by segment as it comes in; steps follow each other
/// without a gap. Cost (pLogP): (P−1)(g(m) + reduce(segment)), plus the latency of a segment per step at worst. Each
/// port carries one stream. Good for long blocks of about equal length; needs a commutative operation.
Schedule build(const Problem& p) {
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

}  // namespace

extern const Algorithm reduce_scatter{
    .collective = Collective::reduce_scatter,
    .name = "ring",
    .summary = "blocks reduced on their way round the ring; long blocks",
    .parameters = parameters,
    .supports = is_commutative,
    .build = build,
    .any_order = true,
};

extern const Algorithm reduce_scatter_block{
    .collective = Collective::reduce_scatter_block,
    .name = "ring",
    .summary = "blocks reduced on their way round the ring; long blocks",
    .parameters = parameters,
    .supports = is_commutative,
    .build = build,
    .any_order = true,
};

}  // namespace antiphon::reduce_scatter_by_ring
