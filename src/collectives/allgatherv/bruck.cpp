// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/allgather.hpp"

namespace antiphon::allgatherv_algorithms {

namespace {

constexpr Parameter parameters[] = {
    {"radix", 2, 2, 16, "blocks held grow by this factor a round; radix−1 messages a round"},
    {"piece_bytes", 16384, 0, 1 << 30, "bytes per piece; 0 sends whole messages"},
    {"window", 2, 1, 1024, "pieces ahead of what comes in"},
};

/// As for allgather: round i doubles (radix 2) the blocks that a rank has, ⌈log_radix P⌉ rounds for any P. A rank whose
/// output has gaps or another order receives into scratch and copies. Cost (pLogP): log_radix P · L + g(all blocks).
Schedule build(const Problem& p) { return allgather_bruck(p); }

}  // namespace

extern const Algorithm bruck{Collective::allgatherv,
                             "bruck",
                             "blocks held grow by a factor a round; short blocks, any number of ranks",
                             parameters,
                             nullptr,
                             build};

}  // namespace antiphon::allgatherv_algorithms
