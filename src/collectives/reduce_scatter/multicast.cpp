// SPDX-License-Identifier: Apache-2.0
#include "patterns/multicast.hpp"
#include "antiphon/algorithm.hpp"

namespace antiphon::reduce_scatter_algorithms {

namespace {

constexpr Parameter parameters[] = {
    {"radix", 2, 2, 64, "of the k-nomial tree up"},
    {"segment_bytes", 8192, 0, 1 << 30, "bytes per segment, on the way up and to the group; 0: all at once"},
    {"window", 4, 1, 64, "segments under way"},
};

/// All blocks are reduced up a k-nomial tree to rank 0, which multicasts them all; each rank keeps its own. Cost
/// (pLogP), radix 2: log2 P (L + g(M)) + L + g(M), with M the sum of all blocks. A few bytes; any operation.
Schedule build(const Problem& p) { return reduce_scatter_multicast(p); }

}  // namespace

extern const Algorithm multicast{Collective::reduce_scatter,
                                 "multicast",
                                 "reduced up a tree, all blocks in one multicast; a few bytes, any operation",
                                 parameters,
                                 nullptr,
                                 build,
                                 Knowledge::local,
                                 true};

}  // namespace antiphon::reduce_scatter_algorithms
