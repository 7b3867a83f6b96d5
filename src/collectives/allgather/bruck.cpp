// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/allgather.hpp"

namespace antiphon::allgather_algorithms {

namespace {

constexpr Parameter parameters[] = {
    {"radix", 2, 2, 16, "blocks held grow by this factor a round; radix−1 messages a round"},
    {"piece_bytes", 16384, 0, 1 << 30, "bytes per piece; 0 sends whole messages"},
    {"window", 2, 1, 1024, "pieces ahead of what comes in"},
};

/// Round i: every rank sends the d = radix^i blocks it has, from its own on, to rank − d, 2d, … (radix−1) d, and gets
/// as many from the other side: ⌈log_radix P⌉ rounds for any P. Blocks go to their places in the output at once; a run
/// that wraps round the end is two messages. Cost (pLogP): log_radix P · L + (P−1) g(m). J. Bruck et al., 1997.
Schedule build(const Problem& p) { return allgather_bruck(p); }

}  // namespace

extern const Algorithm bruck{Collective::allgather,
                             "bruck",
                             "blocks held grow by a factor a round; short blocks, any number of ranks",
                             parameters,
                             nullptr,
                             build};

}  // namespace antiphon::allgather_algorithms
