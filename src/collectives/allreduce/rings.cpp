// SPDX-License-Identifier: Apache-2.0
#include "patterns/rings.hpp"

#include "antiphon/algorithm.hpp"
#include "antiphon/index.hpp"
#include "patterns/partition.hpp"
#include "patterns/supports.hpp"

namespace antiphon::allreduce_by_rings {

namespace {

constexpr Parameter parameters[] = {
    {"rings", Role::at_once, 4, 1, 64, rings_means},
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment; 0 passes on whole blocks"},
    {"window", Role::ahead, 8, 1, 1024, "segments a rank may be ahead of what it has received, on each ring"},
};

bool supported(const Problem& p) { return is_commutative(p) && few_enough_for_rings(p); }

/// The vector is cut into as many parts as there are rings, and each part is reduced and told round its ring, as by
/// `ring`. No two rings take the same step, so a rank has a connection for each ring on either side. Cost (pLogP) with
/// r rings: 2 (P−1)/P · g(m/r), where g is a connection's, or r times the port's if that is longer, plus the latencies
/// of a ring. For long vectors where one connection does not fill a port; needs a commutative operation.
Schedule build(const Problem& p) {
  Schedule s;
  if (p.size == 1) {
    s.copy(p.whole_input(), p.whole_output());
    return s;
  }
  const std::vector<Ring> rings = rings_of(p);
  const Partition parts(p.bytes, p.element_bytes, static_cast<int>(rings.size()));
  for (int i = 0; i < parts.parts(); ++i) {
    const Ring& ring = rings[at(i)];
    const VectorPart part{parts.of(p.whole_input(), i), parts.of(p.whole_output(), i)};
    const auto [blocks, reduced] = ring_reduce_vector(s, ring, p, part);
    ring_allgather(s, ring, blocks, pipelined(reduced.result), reduced.last_use);
  }
  return s;
}

}  // namespace

extern const Algorithm allreduce{
    .collective = Collective::allreduce,
    .name = "rings",
    .summary = "parts reduced and told round several rings; long vectors where one connection does not fill a port",
    .parameters = parameters,
    .supports = supported,
    .build = build,
    .many_connections = true,
};

}  // namespace antiphon::allreduce_by_rings
