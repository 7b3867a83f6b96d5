// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/subtree_blocks.hpp"

namespace antiphon::gather_algorithms {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", 16384, 0, 1 << 30, "bytes per piece of a message; 0 sends whole messages"},
    {"window", 4, 1, 1024, "pieces under way from one rank"},
    {"eager_bytes", 16384, 0, 1 << 30, "messages up to this are sent without being asked for"},
};

/// Up a binomial tree: a rank collects the blocks of its subtree and passes them on in one message.
/// Cost (pLogP): ⌈log2 P⌉ L + g(m) + g(2 m) + … + g(m P/2) (paper 5's binomial gather). Short blocks, any number of
/// ranks.
Schedule build(const Problem& p) { return gather_binomial(p); }

}  // namespace

extern const Algorithm binomial{
    Collective::gather, "binomial", "blocks of whole subtrees up a binomial tree; short blocks",
    parameters,         nullptr,    build};

}  // namespace antiphon::gather_algorithms
