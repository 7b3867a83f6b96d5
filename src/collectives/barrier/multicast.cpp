// SPDX-License-Identifier: Apache-2.0
#include "patterns/multicast.hpp"
#include "antiphon/algorithm.hpp"
#include "patterns/tree.hpp"

namespace antiphon::barrier_by_multicast {

namespace {

constexpr Parameter parameters[] = {
    {"radix", Role::fanout, 4, 2, 64, "a rank hears from up to radix−1 others in each round"},
};

/// The release has a tag of its own, since it may come over the same way as tokens.
constexpr int release_tag = 1;

/// Tokens go up a k-nomial tree to rank 0, which releases all ranks by one multicast. Cost (pLogP): ⌈log_radix P⌉ (L +
/// (radix−1) g(0)) + L: half the rounds of `tree`. Rank 0 alone waits for the acknowledgements of its release.
Schedule build(const Problem& p) {
  Schedule s;
  const Tree tree = knomial_tree(p.rank, p.size, static_cast<int>(p.parameter("radix")));
  std::vector<Dep> heard;
  for (const int child : smallest_first(tree)) heard.push_back(s.recv_token(child));
  const int group = group_of_all(s, p);
  if (tree.parent < 0) {
    s.add({.kind = OpKind::multicast, .tag = release_tag, .from = {}, .to = {}, .group = group}, heard);
    return s;
  }
  s.add({.kind = OpKind::send, .peer = tree.parent, .from = {}, .to = {}}, heard);
  s.recv_multicast(0, group, {}, {}, {}, release_tag);
  return s;
}

}  // namespace

extern const Algorithm barrier{
    .collective = Collective::barrier,
    .name = "multicast",
    .summary = "tokens up a k-nomial tree, one multicast to go on",
    .parameters = parameters,
    .build = build,
    .multicasts = true,
};

}  // namespace antiphon::barrier_by_multicast
