// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/reduce_up.hpp"
#include "patterns/tree.hpp"

namespace antiphon::reduce_scatter_block_by_reduce_scatter {

namespace {

constexpr Parameter parameters[] = {
    {"radix", Role::fanout, 2, 2, 64,
     "of the k-nomial tree: a rank hears from (and tells) up to radix−1 others in each round"},
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment; 0 sends whole messages"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way from one rank to another"},
};

constexpr int up_tag = 0;
constexpr int down_tag = 1;

/// All blocks are reduced up a k-nomial tree to rank 0, and the sums go down the same tree, those of a subtree
/// together: 2 (P−1) messages instead of P log2 P, but twice the rounds and P m bytes in each round up. Subtrees are
/// runs of ranks combined in order, so any operation will do. Cost (pLogP), radix 2: log2 P (2 L + g(P m)) + g(m) + … +
/// g(m P/2). Good for a few bytes where messages cost more than rounds.
Schedule build(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p);
  const auto radix = static_cast<int>(p.parameter("radix"));
  const Tree tree = knomial_tree(p.rank, p.size, radix);
  const std::int64_t all = p.bytes * p.size;
  std::vector<int> in_order = tree.children;
  std::sort(in_order.begin(), in_order.end());
  const auto [result, combined] = combine_children(s, in_order, {Space::input, 0, all}, false, cut, up_tag);

  // The sums of this rank's subtree are in memory that begins with its first block.
  Range sums = result.sub(tree.first * p.bytes, (tree.last - tree.first) * p.bytes);
  OpId have = combined;
  if (tree.parent >= 0) {
    const OpId sent = s.send(tree.parent, result, {pipelined(combined)}, cut, up_tag);
    sums = tree.children.empty() ? p.whole_output() : s.scratch((tree.last - tree.first) * p.bytes);
    have = s.recv(tree.parent, sums, {sent}, cut, down_tag);
  }
  for (const int child : tree.children) {
    const Tree below = knomial_tree(child, p.size, radix);
    s.send(child, sums.sub((below.first - tree.first) * p.bytes, (below.last - below.first) * p.bytes), {have}, cut,
           down_tag);
  }
  if (tree.parent < 0 || !tree.children.empty())
    s.copy(sums.sub((p.rank - tree.first) * p.bytes, p.bytes), p.whole_output(), {have});
  return s;
}

}  // namespace

extern const Algorithm reduce_scatter_block{
    .collective = Collective::reduce_scatter_block,
    .name = "reduce_scatter",
    .summary = "reduced up a k-nomial tree, scattered down again; fewest messages, any operation",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::reduce_scatter_block_by_reduce_scatter
