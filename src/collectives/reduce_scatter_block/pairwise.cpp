// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/reduce_scatter.hpp"

namespace antiphon::reduce_scatter_block_algorithms {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", 16384, 0, 1 << 30, "bytes per piece of a block; 0 sends whole blocks"},
    {"window", 2, 1, 1024, "pieces a rank may be ahead of what it has received"},
    {"sync", 1, 0, 2, "between phases: 0 pacing by pieces alone, 1 a token before each long block, 2 a barrier"},
    {"token_bytes", 32768, 0, 1 << 30, "with sync 1: blocks up to this need no token"},
};

/// Phase i = 1…P−1: send rank+i its block, receive an operand from rank−i and reduce it, in the lock-step pieces of
/// alltoall's `rotated`. Operands come in rank order (downwards, in two runs), so any operation will do, and results do
/// not depend on timing. Cost: (P−1)·m over one link, plus a latency per window.
Schedule build(const Problem& p) { return reduce_scatter_pairwise(p); }

}  // namespace

extern const Algorithm pairwise{Collective::reduce_scatter_block,
                                "pairwise",
                                "operands exchanged in rotated phases of lock-step pieces; any operation",
                                parameters,
                                nullptr,
                                build};

}  // namespace antiphon::reduce_scatter_block_algorithms
