// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/allgather.hpp"

namespace antiphon::allgatherv_algorithms {

namespace {

constexpr Parameter parameters[] = {
    {"concurrency", 2, 1, 8, "groups, and so messages under way in each direction"},
    {"piece_bytes", 16384, 0, 1 << 30, "bytes per piece; 0 sends whole messages"},
    {"window", 2, 1, 1024, "pieces of a message ahead of what comes in from the same group"},
};

/// Paper 4, §3.1: C groups. First every rank sends its block to its peer in each other group; then in each of log2(P/C)
/// steps what it has of its own group to its pair and to the peers of its pair in the other groups, so C messages are
/// under way in each direction. Groups of one power of two exchange in pairs; any other P has groups that differ by at
/// most one rank, in which blocks go round as in the Bruck algorithm (a rank beyond a shorter group follows that
/// group's first place). Cost: log2(P/C) (L + C·o) + (P−1) g(m). For networks and switches that carry several streams a
/// port at once.
Schedule build(const Problem& p) { return allgather_concurrent(p); }

}  // namespace

extern const Algorithm concurrent_exchange{
    Collective::allgatherv,
    "concurrent_exchange",
    "exchanges in several groups at once (concurrency index); short and medium blocks",
    parameters,
    nullptr,
    build};

}  // namespace antiphon::allgatherv_algorithms
