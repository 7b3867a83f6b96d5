// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/subtree_blocks.hpp"

namespace antiphon::gather_by_binomial {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per piece of a message; 0 sends whole messages"},
    {"window", Role::ahead, 4, 1, 1024, "pieces under way from one rank"},
    {"eager_bytes", Role::border, 16384, 0, 1 << 30, "messages up to this are sent without being asked for"},
};

/// Up a binomial tree: a rank collects the blocks of its subtree and passes them on in one message.
/// Cost (pLogP): ⌈log2 P⌉ L + g(m) + g(2 m) + … + g(m P/2) (paper 5's binomial gather). Good for short blocks and any
/// number of ranks.
Schedule build(const Problem& p) { return gather_subtrees(p, binomial_tree(p.relative(p.rank), p.size)); }

}  // namespace

extern const Algorithm gather{
    .collective = Collective::gather,
    .name = "binomial",
    .summary = "blocks of whole subtrees up a binomial tree; short blocks",
    .parameters = parameters,
    .build = build,
};

extern const Algorithm gatherv{
    .collective = Collective::gatherv,
    .name = "binomial",
    .summary = "blocks of whole subtrees up a binomial tree; short blocks; all ranks must know all counts",
    .parameters = parameters,
    .build = build,
    .knowledge = Knowledge::all_counts,
};

}  // namespace antiphon::gather_by_binomial
