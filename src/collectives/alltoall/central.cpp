// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "antiphon/index.hpp"
#include "patterns/tree.hpp"

namespace antiphon::alltoall_by_central {

namespace {

constexpr Parameter parameters[] = {
    {"radix", Role::fanout, 8, 2, 64,
     "of the k-nomial tree: a rank hears from (and tells) up to radix−1 others in each round"},
};

/// Rank 0 puts each block in its place: its work grows with the square of the ranks.
constexpr int most_ranks = 32;
constexpr int up_tag = 0;
constexpr int down_tag = 1;

/// The way of all blocks through rank 0. A row is all blocks that one rank sends, or gets.
class Central {
 public:
  explicit Central(const Problem& p)
      : p_(p), tree_(tree_at(p.rank)), row_bytes_(p.bytes * p.size), came_(static_cast<std::size_t>(p.size), no_op) {}

  Schedule build() {
    gather();
    got_ = leaf() ? Range{Space::output, 0, row_bytes_} : s_.scratch((tree_.last - tree_.first) * row_bytes_);
    if (tree_.parent < 0) sort();
    else ask_parent();
    pass_down();
    return std::move(s_);
  }

 private:
  [[nodiscard]] bool leaf() const { return tree_.children.empty(); }
  [[nodiscard]] Tree tree_at(int rank) const {
    return knomial_tree(rank, p_.size, static_cast<int>(p_.parameter("radix")));
  }
  /// The rows of the ranks first…last−1 in memory that holds those of the subtree.
  [[nodiscard]] Range rows(const Range& memory, int first, int last) const {
    return memory.sub((first - tree_.first) * row_bytes_, (last - first) * row_bytes_);
  }

  /// Brings together what the ranks of the subtree send.
  void gather() {
    const Range own{Space::input, 0, row_bytes_};
    sent_ = leaf() ? own : s_.scratch((tree_.last - tree_.first) * row_bytes_);
    if (leaf()) return;
    came_[at(p_.rank)] = s_.copy(own, rows(sent_, p_.rank, p_.rank + 1));
    have_.emplace_back(came_[at(p_.rank)]);
    for (const int child : smallest_first(tree_)) {
      const Tree below = tree_at(child);
      const OpId received = s_.recv(child, rows(sent_, below.first, below.last), {}, {}, up_tag);
      for (int rank = below.first; rank < below.last; ++rank) came_[at(rank)] = received;
      have_.emplace_back(received);
    }
  }

  /// Rank 0: from the order of senders to that of receivers.
  void sort() {
    std::vector<Dep> copies;
    for (int from = 0; from < p_.size; ++from) {
      for (int to = 0; to < p_.size; ++to) {
        copies.emplace_back(s_.copy(sent_.sub((from * p_.size + to) * p_.bytes, p_.bytes),
                                    got_.sub((to * p_.size + from) * p_.bytes, p_.bytes), {came_[at(from)]}));
      }
    }
    // A copy of nothing joins the copies, so that each message down has one dependency instead of all of them.
    have_ = {Dep(s_.add({.kind = OpKind::copy, .from = {}, .to = {}}, copies))};
  }

  void ask_parent() {
    const OpId told =
        s_.add({.kind = OpKind::send, .peer = tree_.parent, .tag = up_tag, .from = sent_, .to = {}}, have_);
    // In place, the input is overwritten after it was sent.
    have_ = {Dep(s_.recv(tree_.parent, got_, {told}, {}, down_tag))};
  }

  void pass_down() {
    for (const int child : tree_.children) {
      const Tree below = tree_at(child);
      const Range range = rows(got_, below.first, below.last);
      s_.add({.kind = OpKind::send, .peer = child, .tag = down_tag, .from = range, .to = {}}, have_);
    }
    if (leaf()) return;
    const Range own = rows(got_, p_.rank, p_.rank + 1);
    s_.add({.kind = OpKind::copy, .from = own, .to = {Space::output, 0, row_bytes_}}, have_);
  }

  const Problem& p_;
  Schedule s_;
  Tree tree_;
  std::int64_t row_bytes_;
  Range sent_;              ///< by sender, those of this rank's subtree
  Range got_;               ///< by receiver, the same
  std::vector<OpId> came_;  ///< by sender: when its row is there
  std::vector<Dep> have_;   ///< when all rows are there: first those of senders, then those of receivers
};

/// All blocks go up a k-nomial tree to rank 0, which puts them in the order of their receivers, and down again:
/// 2 (P−1) messages instead of P log2 P, but all bytes through one rank. Subtrees are runs of ranks, whose blocks lie
/// together both ways. Cost (pLogP), one level: 2 (P−1) g(P m) + 2 L. Good for a few bytes where messages cost more
/// than rounds: many ranks on few cores.
Schedule build(const Problem& p) { return Central(p).build(); }

bool supports_problem(const Problem& p) { return p.size <= most_ranks; }

}  // namespace

extern const Algorithm alltoall{
    .collective = Collective::alltoall,
    .name = "central",
    .summary = "up a k-nomial tree, sorted by rank 0, and down again; fewest messages, a few bytes",
    .parameters = parameters,
    .supports = supports_problem,
    .build = build,
};

}  // namespace antiphon::alltoall_by_central
