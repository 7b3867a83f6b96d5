// SPDX-License-Identifier: Apache-2.0
#include "patterns/rings.hpp"

#include "antiphon/algorithm.hpp"
#include "antiphon/index.hpp"
#include "patterns/partition.hpp"
#include "patterns/reduce_scatter.hpp"
#include "patterns/supports.hpp"

namespace antiphon::reduce_scatter_by_rings {

namespace {

constexpr Parameter parameters[] = {
    {"rings", Role::at_once, 4, 1, 64, rings_means},
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment; 0 passes on whole parts"},
    {"window", Role::ahead, 8, 1, 1024, "segments a rank may be ahead of what it has received, on each ring"},
};

bool supported(const Problem& p) { return is_commutative(p) && few_enough_for_rings(p); }

/// Each block is cut into as many parts as there are rings, and part i of every block is reduced on its way round ring
/// i to its rank. No two rings take the same step, so a rank has a connection for each ring on either side. Cost
/// (pLogP) with r rings: (P−1)(g(m/r) + reduce(segment)), where g is a connection's, or r times the port's if that is
/// longer. For long blocks where one connection does not fill a port; needs a commutative operation.
Schedule build(const Problem& p) {
  Schedule s;
  if (p.size == 1) {
    s.copy(p.input_block(0), p.whole_output());
    return s;
  }
  const std::vector<Ring> rings = rings_of(p);
  const int count = static_cast<int>(rings.size());
  const Range result = p.in_place ? s.scratch(p.bytes) : p.whole_output();
  std::vector<OpId> uses;
  for (int i = 0; i < count; ++i) {
    const Ring& ring = rings[at(i)];
    std::vector<Range> operands;
    for (int place = 0; place < p.size; ++place) {
      const Range block = p.input_block(ring.at_place(place));
      operands.push_back(Partition(block.bytes, p.element_bytes, count).of(block, i));
    }
    const Range part = Partition(p.bytes, p.element_bytes, count).of(result, i);
    const RingReduced reduced = ring_reduce_scatter(s, ring, {operands, {}, part});
    uses.insert(uses.end(), reduced.last_use.begin(), reduced.last_use.end());
    uses.push_back(reduced.result);
  }
  if (p.in_place) copy_to_output(s, p, result, no_op, uses);
  return s;
}

}  // namespace

extern const Algorithm reduce_scatter{
    .collective = Collective::reduce_scatter,
    .name = "rings",
    .summary = "parts of blocks reduced round several rings; long blocks where one connection does not fill a port",
    .parameters = parameters,
    .supports = supported,
    .build = build,
    .any_order = true,
    .many_connections = true,
};

extern const Algorithm reduce_scatter_block{
    .collective = Collective::reduce_scatter_block,
    .name = "rings",
    .summary = "parts of blocks reduced round several rings; long blocks where one connection does not fill a port",
    .parameters = parameters,
    .supports = supported,
    .build = build,
    .any_order = true,
    .many_connections = true,
};

}  // namespace antiphon::reduce_scatter_by_rings
