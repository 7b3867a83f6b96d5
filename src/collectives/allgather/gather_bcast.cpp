// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/tree.hpp"

namespace antiphon::allgather_by_gather_bcast {

namespace {

constexpr Parameter parameters[] = {
    {"radix", Role::fanout, 2, 2, 64,
     "of the k-nomial tree: a rank hears from (and tells) up to radix−1 others in each round"},
    {"down_radix", Role::fanout, 0, 0, 64, "of the tree down; 0: as radix"},
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment; 0 sends whole messages"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way from one rank to another"},
};

constexpr int up_tag = 0;
constexpr int down_tag = 1;

Tree tree_up(const Problem& p, int rank) { return knomial_tree(rank, p.size, static_cast<int>(p.parameter("radix"))); }

/// What goes down is longer than most of what goes up, so fewer of its messages should leave by one port.
Tree tree_down(const Problem& p, int rank) {
  const auto radix = static_cast<int>(p.parameter("down_radix"));
  return radix < 2 ? tree_up(p, rank) : knomial_tree(rank, p.size, radix);
}

/// Blocks are gathered up a k-nomial tree to rank 0, and all of them go down another or the same: 2 (P−1) messages
/// instead of P log2 P, but twice the rounds. Subtrees are runs of ranks, so that what goes up lies together in the
/// output. Cost (pLogP), radix 2: 2 log2 P · L + g(m) + … + g(m P/2) + log2 P · g(P m). Good for a few bytes where
/// messages cost more than rounds: many ranks on few cores.
Schedule build(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p);
  const Tree tree = tree_up(p, p.rank);
  const Tree down = tree_down(p, p.rank);
  const auto blocks = [&](int first, int last) {
    return Range{Space::output, first * p.bytes, (last - first) * p.bytes};
  };
  std::vector<Dep> have{Dep(s.copy(p.whole_input(), p.output_block(p.rank)))};
  OpId next = no_op;
  for (const int child : smallest_first(tree)) {
    const Tree below = tree_up(p, child);
    const Range range = blocks(below.first, below.last);
    const bool is_long = cut.piece_bytes > 0 && range.bytes > cut.piece_bytes;
    next = s.recv(child, range, {is_long ? next : no_op}, cut, up_tag);
    have.emplace_back(next);
  }
  if (tree.parent >= 0) {
    const OpId sent = s.add({.kind = OpKind::send,
                             .peer = tree.parent,
                             .tag = up_tag,
                             .from = blocks(tree.first, tree.last),
                             .to = {},
                             .cut = cut},
                            have);
    have = {pipelined(s.recv(down.parent, blocks(0, p.size), {sent}, cut, down_tag))};
  }
  for (const int child : down.children) {
    s.add({.kind = OpKind::send, .peer = child, .tag = down_tag, .from = blocks(0, p.size), .to = {}, .cut = cut},
          have);
  }
  return s;
}

}  // namespace

extern const Algorithm allgather{
    .collective = Collective::allgather,
    .name = "gather_bcast",
    .summary = "up a k-nomial tree and down again; fewest messages, a few bytes",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::allgather_by_gather_bcast
