// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/allgather.hpp"

namespace antiphon::allgatherv_algorithms {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", 16384, 0, 1 << 30, "bytes per segment; 0 passes on whole blocks"},
    {"window", 4, 1, 1024, "segments under way to the next rank"},
};

/// P−1 steps; in step s every rank passes on the block that it received in step s−1, segment by segment as it comes in:
/// a long block among short ones goes round as along a chain. Cost (pLogP): g(all blocks) + (P−1)(L + g(segment)). One
/// stream a port.
Schedule build(const Problem& p) { return allgather_ring(p); }

}  // namespace

extern const Algorithm ring{Collective::allgatherv,
                            "ring",
                            "blocks travel round the ring in segments; long blocks, however unequal",
                            parameters,
                            nullptr,
                            build};

}  // namespace antiphon::allgatherv_algorithms
