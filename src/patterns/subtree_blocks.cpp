// SPDX-License-Identifier: Apache-2.0
#include "patterns/subtree_blocks.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "antiphon/index.hpp"
#include "patterns/cut.hpp"

namespace antiphon {

namespace {

/// Where the blocks of a rooted collective are when those of a subtree (a run of places relative to the root) lie one
/// after the other.
class SubtreeBlocks {
 public:
  explicit SubtreeBlocks(const Problem& p);

  /// Of the places first…last−1.
  [[nodiscard]] std::int64_t bytes(int first, int last) const { return at_[at(last)] - at_[at(first)]; }
  /// The blocks first…last−1 within memory that holds those from `base` on.
  [[nodiscard]] Range of(const Range& memory, int base, int first, int last) const {
    return memory.sub(bytes(base, first), bytes(first, last));
  }
  /// A message of these blocks from or to the root, as the runs that lie together in the root's memory: where blocks of
  /// one size are in rank order, the one subtree that reaches past the last rank is two runs.
  [[nodiscard]] std::vector<std::pair<int, int>> runs_at_root(int first, int last) const;
  /// Blocks of one size, in rank order in the root's memory: messages can use that memory itself.
  [[nodiscard]] bool in_rank_order() const { return in_rank_order_; }

 private:
  std::vector<std::int64_t> at_;
  bool in_rank_order_;
  int wrap_;  ///< the place of rank 0
};

SubtreeBlocks::SubtreeBlocks(const Problem& p)
    : at_{0}, in_rank_order_(!is_irregular(p.collective)), wrap_(p.size - p.root) {
  const bool scatter = p.collective == Collective::scatter || p.collective == Collective::scatterv;
  for (int place = 0; place < p.size; ++place) {
    const int rank = p.absolute(place);
    at_.push_back(at_.back() + (scatter ? p.input_block(rank) : p.output_block(rank)).bytes);
  }
}

std::vector<std::pair<int, int>> SubtreeBlocks::runs_at_root(int first, int last) const {
  if (bytes(first, last) == 0) return {};
  if (in_rank_order_ && first < wrap_ && wrap_ < last) return {{first, wrap_}, {wrap_, last}};
  return {{first, last}};
}

/// One rank's messages, up or down the tree.
class SubtreeMessages {
 public:
  SubtreeMessages(const Problem& p, Tree tree)
      : p_(p), blocks_(p), tree_(std::move(tree)), cut_(cut_of(p, "piece_bytes")) {
    std::sort(tree_.children.begin(), tree_.children.end(), std::greater<>());
  }

  Schedule scatter() {
    const bool root = tree_.parent < 0;
    if (root) pack();
    else receive_subtree();
    int end = tree_.last;
    Dep next = no_op;
    for (const int child : tree_.children) {  // the farthest child first: its subtree is the last run of places
      int tag = 0;
      for (const auto& [first, last] : runs(root, child, end)) {
        const OpId sent = s_.add({.kind = OpKind::send,
                                  .peer = p_.absolute(child),
                                  .tag = tag++,
                                  .from = held(first, last),
                                  .to = {},
                                  .cut = cut_},
                                 have_);
        s_.after(next);
        next = following(sent, pieces_of(blocks_.bytes(first, last), cut_), cut_);
      }
      end = child;
    }
    if (root) s_.copy(p_.input_block(p_.rank), p_.whole_output());
    else if (!leaf())
      s_.copy(held(tree_.first, tree_.first + 1), p_.whole_output(), {have_.empty() ? Dep(no_op) : have_.front()});
    return std::move(s_);
  }

  Schedule gather() {
    const bool root = tree_.parent < 0;
    memory_ = p_.whole_input();
    if (root) memory_ = blocks_.in_rank_order() ? Range{} : s_.scratch(blocks_.bytes(1, p_.size));
    else if (!leaf()) memory_ = s_.scratch(blocks_.bytes(tree_.first, tree_.last));
    if (!root && !leaf()) have_.push_back(Dep(s_.copy(p_.whole_input(), held(tree_.first, tree_.first + 1))));
    gather_children(root);
    if (root) {
      unpack();
      s_.copy(p_.whole_input(), p_.output_block(p_.rank));
    } else {
      send_subtree();
    }
    return std::move(s_);
  }

 private:
  [[nodiscard]] bool leaf() const { return tree_.children.empty(); }
  [[nodiscard]] std::vector<std::pair<int, int>> runs(bool with_root, int first, int last) const {
    if (with_root) return blocks_.runs_at_root(first, last);
    if (blocks_.bytes(first, last) == 0) return {};
    return {{first, last}};
  }

  /// Where this rank has the blocks first…last−1. The root's packed memory leaves its own block out.
  [[nodiscard]] Range held(int first, int last) const {
    if (tree_.parent >= 0) return blocks_.of(memory_, tree_.first, first, last);
    if (!blocks_.in_rank_order()) return blocks_.of(memory_, 1, first, last);
    const Space space = p_.collective == Collective::scatter ? Space::input : Space::output;
    return {space, p_.absolute(first) * p_.bytes, blocks_.bytes(first, last)};
  }

  void pack() {
    if (blocks_.in_rank_order()) return;
    memory_ = s_.scratch(blocks_.bytes(1, p_.size));
    for (int place = 1; place < p_.size; ++place) {
      const Range block = p_.input_block(p_.absolute(place));
      if (block.bytes > 0) have_.push_back(Dep(s_.copy(block, held(place, place + 1))));
    }
  }

  void unpack() {
    if (blocks_.in_rank_order()) return;
    for (int place = 1; place < p_.size; ++place) {
      const Range block = p_.output_block(p_.absolute(place));
      if (block.bytes == 0) continue;
      // Blocks come in runs; each is put in its place when its run is there.
      s_.copy(held(place, place + 1), block, {arrival_[static_cast<std::size_t>(place)]});
    }
  }

  void receive_subtree() {
    memory_ = leaf() ? p_.whole_output() : s_.scratch(blocks_.bytes(tree_.first, tree_.last));
    int tag = 0;
    for (const auto& [first, last] : runs(tree_.parent == 0, tree_.first, tree_.last)) {
      have_.push_back(Dep(s_.recv(p_.absolute(tree_.parent), held(first, last), {}, cut_, tag++)));
    }
  }

  void gather_children(bool root) {
    arrival_.assign(static_cast<std::size_t>(p_.size), no_op);
    Dep next = no_op;
    for (std::size_t i = tree_.children.size(); i-- > 0;) {  // the nearest child first: its subtree is the smallest
      const int child = tree_.children[i];
      const int end = i == 0 ? tree_.last : tree_.children[i - 1];
      if (asked(child, end)) s_.send_token(p_.absolute(child), {next});
      int tag = 0;
      for (const auto& [first, last] : runs(root, child, end)) {
        const OpId received = s_.recv(p_.absolute(child), held(first, last), {next}, cut_, tag++);
        for (int place = first; place < last; ++place) arrival_[static_cast<std::size_t>(place)] = received;
        have_.push_back(Dep(received));
        next = following(received, pieces_of(blocks_.bytes(first, last), cut_), cut_);
      }
    }
  }

  [[nodiscard]] bool asked(int first, int last) const {
    return blocks_.bytes(first, last) > p_.parameter("eager_bytes");
  }

  void send_subtree() {
    if (asked(tree_.first, tree_.last)) have_.push_back(Dep(s_.recv_token(p_.absolute(tree_.parent))));
    int tag = 0;
    for (const auto& [first, last] : runs(tree_.parent == 0, tree_.first, tree_.last)) {
      s_.add({.kind = OpKind::send,
              .peer = p_.absolute(tree_.parent),
              .tag = tag++,
              .from = held(first, last),
              .to = {},
              .cut = cut_},
             have_);
    }
  }

  const Problem& p_;
  Schedule s_;
  SubtreeBlocks blocks_;
  Tree tree_;
  Cut cut_;
  Range memory_;               ///< the blocks of the subtree, where they are not in the caller's memory
  std::vector<Dep> have_;      ///< the operations after which all of them are there
  std::vector<OpId> arrival_;  ///< gather: the operation that brings each place's block
};

}  // namespace

Schedule scatter_subtrees(const Problem& p, Tree tree) { return SubtreeMessages(p, std::move(tree)).scatter(); }

Schedule gather_subtrees(const Problem& p, Tree tree) { return SubtreeMessages(p, std::move(tree)).gather(); }

}  // namespace antiphon
