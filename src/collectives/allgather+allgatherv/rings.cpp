// SPDX-License-Identifier: Apache-2.0
#include "patterns/rings.hpp"

#include "antiphon/algorithm.hpp"
#include "antiphon/index.hpp"
#include "patterns/partition.hpp"

namespace antiphon::allgather_by_rings {

namespace {

constexpr Parameter parameters[] = {
    {"rings", Role::at_once, 4, 1, 64, rings_means},
    {"segment_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per segment; 0 passes on whole parts"},
    {"window", Role::ahead, 4, 1, 1024, "segments a rank may be ahead of what it has received, on each ring"},
};

/// Each block is cut into as many parts as there are rings, and part i of every block travels round ring i, segment by
/// segment. No two rings take the same step, so a rank has a connection for each ring on either side. Cost (pLogP) with
/// r rings: (P−1) g(m/r), where g is a connection's, or r times the port's if that is longer. For long blocks where one
/// connection does not fill a port.
Schedule build(const Problem& p) {
  Schedule s;
  const OpId own = s.copy(p.whole_input(), p.output_block(p.rank));
  const std::vector<Ring> rings = rings_of(p);
  const int count = static_cast<int>(rings.size());
  for (int i = 0; i < count; ++i) {
    const Ring& ring = rings[at(i)];
    std::vector<Range> blocks;
    for (int place = 0; place < p.size; ++place) {
      const Range block = p.output_block(ring.at_place(place));
      blocks.push_back(Partition(block.bytes, 1, count).of(block, i));
    }
    ring_allgather(s, ring, blocks, own);
  }
  return s;
}

}  // namespace

extern const Algorithm allgather{
    .collective = Collective::allgather,
    .name = "rings",
    .summary = "parts of blocks travel round several rings; long blocks where one connection does not fill a port",
    .parameters = parameters,
    .supports = few_enough_for_rings,
    .build = build,
    .any_order = true,
    .many_connections = true,
};

extern const Algorithm allgatherv{
    .collective = Collective::allgatherv,
    .name = "rings",
    .summary = "parts of blocks travel round several rings; long blocks where one connection does not fill a port",
    .parameters = parameters,
    .supports = few_enough_for_rings,
    .build = build,
    .any_order = true,
    .many_connections = true,
};

}  // namespace antiphon::allgather_by_rings
