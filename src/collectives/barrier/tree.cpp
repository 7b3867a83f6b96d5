// SPDX-License-Identifier: Apache-2.0
#include "patterns/tree.hpp"
#include "antiphon/algorithm.hpp"

namespace antiphon::barrier_by_tree {

namespace {

constexpr Parameter parameters[] = {
    {"radix", Role::fanout, 4, 2, 64, "a rank hears from (and tells) up to radix−1 others in each round"},
};

/// Tokens go up a k-nomial tree to rank 0 and down again: 2 (P−1) messages instead of P ⌈log2 P⌉, but twice the rounds.
/// Cost (pLogP): 2 ⌈log_radix P⌉ (L + (radix−1) g(0)). Good where messages cost more than rounds: many ranks on few
/// cores.
Schedule build(const Problem& p) {
  Schedule s;
  const Tree tree = knomial_tree(p.rank, p.size, static_cast<int>(p.parameter("radix")));
  std::vector<Dep> heard;
  for (const int child : smallest_first(tree)) heard.push_back(s.recv_token(child));
  if (tree.parent >= 0) {
    s.add({.kind = OpKind::send, .peer = tree.parent, .from = {}, .to = {}}, heard);
    heard = {Dep(s.recv_token(tree.parent))};
  }
  for (const int child : tree.children) s.add({.kind = OpKind::send, .peer = child, .from = {}, .to = {}}, heard);
  return s;
}

}  // namespace

extern const Algorithm barrier{
    .collective = Collective::barrier,
    .name = "tree",
    .summary = "tokens up and down a k-nomial tree; fewest messages",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::barrier_by_tree
