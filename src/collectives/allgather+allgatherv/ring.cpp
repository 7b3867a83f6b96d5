// SPDX-License-Identifier: Apache-2.0
#include "patterns/ring.hpp"
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"

namespace antiphon::allgather_by_ring {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per segment; 0 passes on whole blocks"},
    {"window", Role::ahead, 4, 1, 1024, "segments a rank may be ahead of what it has received"},
};

/// P−1 steps: in step s every rank passes on the block that it received in step s−1, segment by segment as it comes in,
/// and goes on to the next step without a gap. A long block among short ones goes round as along a chain.
/// Cost (pLogP): (P−1) g(m), plus the latency of a segment per step at worst; blocks of unequal length:
/// g(all blocks) + (P−1)(L + g(segment)). Each port carries one stream, which never contends, for any P.
Schedule build(const Problem& p) {
  Schedule s;
  std::vector<Range> blocks;
  for (int i = 0; i < p.size; ++i) blocks.push_back(p.output_block(i));
  const OpId own = s.copy(p.whole_input(), p.output_block(p.rank));
  ring_allgather(s, {p.rank, p.size, cut_of(p)}, blocks, own);
  return s;
}

}  // namespace

extern const Algorithm allgather{
    .collective = Collective::allgather,
    .name = "ring",
    .summary = "blocks travel round the ring; long blocks, any number of ranks",
    .parameters = parameters,
    .build = build,
    .any_order = true,
};

extern const Algorithm allgatherv{
    .collective = Collective::allgatherv,
    .name = "ring",
    .summary = "blocks travel round the ring in segments; long blocks, however unequal",
    .parameters = parameters,
    .build = build,
    .any_order = true,
};

}  // namespace antiphon::allgather_by_ring
