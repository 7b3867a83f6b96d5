// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "patterns/cut.hpp"

namespace antiphon {

/// Scratch memory for blocks of the same size that are passed on one after the other: a few slots, used in turns, piece
/// by piece, so that memory does not grow with the number of ranks.
class Slots {
 public:
  /// For `blocks` blocks. Makes enough slots for a full window of pieces to come in while another goes out.
  Slots(Schedule& s, int blocks, std::int64_t block_bytes, Cut cut) {
    const std::int64_t window = cut.window == 0 ? 8 : cut.window;
    const std::int64_t wanted = 1 + (2 * window + pieces_of(block_bytes, cut) - 1) / pieces_of(block_bytes, cut);
    const std::int64_t count = std::min<std::int64_t>(blocks, std::clamp<std::int64_t>(wanted, 2, 16));
    for (std::int64_t i = 0; i < count; ++i) slots_.push_back({s.scratch(block_bytes), no_op});
  }

  /// The slot for the next block.
  [[nodiscard]] const Range& next() const { return slots_[at_].range; }
  /// Piece k of the next block may come in after this.
  [[nodiscard]] Dep free() const { return pipelined(slots_[at_].last_use); }
  /// The next block goes out with `op` and leaves the slot, piece by piece.
  void used_until(OpId op) {
    slots_[at_].last_use = op;
    at_ = (at_ + 1) % slots_.size();
  }

 private:
  struct Slot {
    Range range;
    OpId last_use;
  };
  std::vector<Slot> slots_;
  std::size_t at_ = 0;
};

}  // namespace antiphon
