// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/tree.hpp"

namespace antiphon::alltoall_algorithms {

namespace {

constexpr Parameter parameters[] = {
    {"radix", 8, 2, 64, "of the k-nomial tree: a rank hears from (and tells) up to radix−1 others in each round"},
};

/// Rank 0 puts each block in its place: the square of the ranks.
constexpr int most_ranks = 32;
constexpr int up_tag = 0;
constexpr int down_tag = 1;

/// All blocks go up a k-nomial tree to rank 0, which puts them in the order of those they are for, and down again: 2
/// (P−1) messages instead of P log2 P, but all bytes through one rank. Subtrees are runs of ranks, whose blocks lie
/// together both ways. Cost (pLogP), one level: 2 (P−1) g(P m) + 2 L. A few bytes, where messages cost more than
/// rounds: many ranks on few cores.
Schedule build(const Problem& p) {
  Schedule s;
  const auto tree_at = [&](int rank) { return knomial_tree(rank, p.size, static_cast<int>(p.parameter("radix"))); };
  const Tree tree = tree_at(p.rank);
  const std::int64_t row = p.bytes * p.size;  // what one rank sends, or gets
  const auto rows = [&](const Range& memory, int first, int last) {
    return memory.sub((first - tree.first) * row, (last - first) * row);
  };
  const bool leaf = tree.children.empty();

  // By sender, those of this rank's subtree.
  const Range own{Space::input, 0, row};
  const Range sent = leaf ? own : s.scratch((tree.last - tree.first) * row);
  std::vector<OpId> came(static_cast<std::size_t>(p.size), no_op);
  std::vector<Dep> have;
  if (!leaf) {
    came[static_cast<std::size_t>(p.rank)] = s.copy(own, rows(sent, p.rank, p.rank + 1));
    have.emplace_back(came[static_cast<std::size_t>(p.rank)]);
  }
  for (auto child = tree.children.rbegin(); child != tree.children.rend();
       ++child) {  // the smallest subtree is complete first
    const Tree below = tree_at(*child);
    const OpId received = s.recv(*child, rows(sent, below.first, below.last), {}, {}, up_tag);
    for (int rank = below.first; rank < below.last; ++rank) came[static_cast<std::size_t>(rank)] = received;
    have.emplace_back(received);
  }
  // By receiver.
  Range got{Space::output, 0, row};
  if (!leaf) got = s.scratch((tree.last - tree.first) * row);
  if (tree.parent < 0) {
    have.clear();
    for (int from = 0; from < p.size; ++from) {
      for (int to = 0; to < p.size; ++to) {
        have.emplace_back(s.copy(sent.sub((from * p.size + to) * p.bytes, p.bytes),
                                 got.sub((to * p.size + from) * p.bytes, p.bytes),
                                 {came[static_cast<std::size_t>(from)]}));
      }
    }
    // Many operations joined into one, not to have so many dependencies for each message.
    const OpId all = s.add({.kind = OpKind::copy, .from = {}, .to = {}}, have);
    have = {Dep(all)};
  } else {
    const OpId told = s.add({.kind = OpKind::send, .peer = tree.parent, .tag = up_tag, .from = sent, .to = {}}, have);
    // In place, the input is overwritten after it was sent.
    have = {Dep(s.recv(tree.parent, got, {told}, {}, down_tag))};
  }
  for (const int child : tree.children) {
    const Tree below = tree_at(child);
    s.add({.kind = OpKind::send, .peer = child, .tag = down_tag, .from = rows(got, below.first, below.last), .to = {}},
          have);
  }
  if (!leaf) s.add({.kind = OpKind::copy, .from = rows(got, p.rank, p.rank + 1), .to = {Space::output, 0, row}}, have);
  return s;
}

bool supports_problem(const Problem& p) { return p.size <= most_ranks; }

}  // namespace

extern const Algorithm central{
    .collective = Collective::alltoall,
    .name = "central",
    .summary = "up a k-nomial tree, sorted by rank 0, and down again; fewest messages, a few bytes",
    .parameters = parameters,
    .supports = supports_problem,
    .build = build,
};

}  // namespace antiphon::alltoall_algorithms
