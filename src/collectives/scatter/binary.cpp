// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/subtree_blocks.hpp"

namespace antiphon::scatter_by_binary {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per piece of a message; 0 sends whole messages"},
    {"window", Role::ahead, 4, 1, 1024, "pieces under way from one rank"},
};

/// Down a binary tree: a rank gets the blocks of its subtree in one message and passes on all but its own. No rank
/// tells more than two, so calls back to back follow each other more closely than down a binomial tree, and a single
/// call takes about as long. Cost (pLogP): ⌈log2 P⌉ (L + 2 g(0)) + g(m P/2) + g(m P/4) + … Good for a few bytes.
Schedule build(const Problem& p) { return scatter_subtrees(p, binary_tree(p.relative(p.rank), p.size)); }

}  // namespace

extern const Algorithm scatter{
    .collective = Collective::scatter,
    .name = "binary",
    .summary = "blocks of whole subtrees down a binary tree; a few bytes",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::scatter_by_binary
