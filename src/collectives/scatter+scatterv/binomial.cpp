// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/subtree_blocks.hpp"

namespace antiphon::scatter_by_binomial {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per piece of a message; 0 sends whole messages"},
    {"window", Role::ahead, 4, 1, 1024, "pieces under way from one rank"},
};

/// Down a binomial tree: a rank gets the blocks of its whole subtree in one message and passes on all but its own.
/// Cost (pLogP): ⌈log2 P⌉ L + g(m P/2) + g(m P/4) + … (paper 5, Table 2). Good for short blocks and any number of
/// ranks.
Schedule build(const Problem& p) { return scatter_subtrees(p, binomial_tree(p.relative(p.rank), p.size)); }

}  // namespace

extern const Algorithm scatter{
    .collective = Collective::scatter,
    .name = "binomial",
    .summary = "blocks of whole subtrees down a binomial tree; short blocks",
    .parameters = parameters,
    .build = build,
};

extern const Algorithm scatterv{
    .collective = Collective::scatterv,
    .name = "binomial",
    .summary = "blocks of whole subtrees down a binomial tree; short blocks; all ranks must know all counts",
    .parameters = parameters,
    .build = build,
    .knowledge = Knowledge::all_counts,
};

}  // namespace antiphon::scatter_by_binomial
