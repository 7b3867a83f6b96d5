// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "antiphon/index.hpp"
#include "antiphon/problem.hpp"

namespace antiphon {

/// Where the blocks of a rooted collective are when those of a subtree (a run of places relative to the root) lie one
/// after the other. For scatterv and gatherv every rank must know all counts.
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

/// scatter, scatterv: every rank gets the blocks of its subtree of the binomial tree and passes on all but its own
/// (parameters piece_bytes, window).
Schedule scatter_binomial(const Problem& p);

/// gather, gatherv: every rank gathers the blocks of its subtree and passes them on together. Those longer than
/// eager_bytes are asked for, one subtree after the other (parameters piece_bytes, window, eager_bytes).
Schedule gather_binomial(const Problem& p);

/// The same on a binary tree.
Schedule scatter_binary(const Problem& p);
Schedule gather_binary(const Problem& p);

}  // namespace antiphon
