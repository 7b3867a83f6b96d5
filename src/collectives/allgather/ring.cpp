// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/allgather.hpp"

namespace antiphon::allgather_algorithms {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", 16384, 0, 1 << 30, "bytes per segment; 0 passes on whole blocks"},
    {"window", 4, 1, 1024, "segments under way to the next rank"},
};

/// P−1 steps; in step s every rank passes on the block that it received in step s−1, segment by segment as it comes in,
/// and goes on to the next step without a gap. Cost (pLogP): (P−1) g(m), plus the latency of a segment once a step at
/// worst. One stream a port: never contends, for any P.
Schedule build(const Problem& p) { return allgather_ring(p); }

}  // namespace

extern const Algorithm ring{Collective::allgather,
                            "ring",
                            "blocks travel round the ring; long blocks, any number of ranks",
                            parameters,
                            nullptr,
                            build};

}  // namespace antiphon::allgather_algorithms
