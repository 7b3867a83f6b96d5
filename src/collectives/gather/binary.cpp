// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/subtree_blocks.hpp"

namespace antiphon::gather_by_binary {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per piece of a message; 0 sends whole messages"},
    {"window", Role::ahead, 4, 1, 1024, "pieces under way from one rank"},
    {"eager_bytes", Role::border, 16384, 0, 1 << 30, "messages up to this are sent without being asked for"},
};

/// Up a binary tree: a rank collects the blocks of its two halves and passes them on in one message. No rank hears from
/// more than two, so calls back to back follow each other more closely than up a binomial tree, and a single call takes
/// about as long. Cost (pLogP): ⌈log2 P⌉ (L + 2 g(0)) + g(m) + g(2 m) + … + g(m P/2). Good for a few bytes.
Schedule build(const Problem& p) { return gather_subtrees(p, binary_tree(p.relative(p.rank), p.size)); }

}  // namespace

extern const Algorithm gather{
    .collective = Collective::gather,
    .name = "binary",
    .summary = "blocks of whole subtrees up a binary tree; a few bytes",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::gather_by_binary
