// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/reduce_scatter.hpp"

namespace antiphon::reduce_scatter_block_algorithms {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", 8192, 0, 1 << 30, "bytes per segment; 0 passes on whole blocks"},
    {"window", 8, 1, 1024, "segments under way to the next rank"},
};

/// A block is reduced on its way round the ring to its rank, segment by segment as it comes in; steps follow each other
/// without a gap. Cost (pLogP): (P−1)(g(m) + reduce(segment)), plus the latency of a segment once a step at worst. One
/// stream a port. Long blocks; needs a commutative operation.
Schedule build(const Problem& p) { return reduce_scatter_ring(p); }

bool supports_problem(const Problem& p) { return p.commutative; }

}  // namespace

extern const Algorithm ring{Collective::reduce_scatter_block,
                            "ring",
                            "blocks reduced on their way round the ring; long blocks",
                            parameters,
                            supports_problem,
                            build};

}  // namespace antiphon::reduce_scatter_block_algorithms
