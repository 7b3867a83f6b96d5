// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "patterns/composition.hpp"
#include "patterns/levels.hpp"

namespace antiphon {

/// All places' blocks one after the other, so that those of a node are one range: where they lie if they lie so, else
/// in scratch memory. Each rank decides this for itself, since messages are the same either way.
class BlockRow {
 public:
  /// `blocks`: by place. Without `here`, this rank does not have them, and only their lengths matter.
  BlockRow(Composition& s, std::vector<Range> blocks, bool here = true);

  /// Whether the row is where the blocks are; else they are put into it by collect(), or taken out of it by spread().
  [[nodiscard]] bool direct() const { return direct_; }
  void collect(Composition& s) const;
  void spread(Composition& s) const;

  [[nodiscard]] Range of(const Run& places) const { return row_.sub(offset(places.first), bytes(places)); }
  [[nodiscard]] std::int64_t bytes(const Run& places) const { return offset(places.last) - offset(places.first); }
  [[nodiscard]] std::vector<Range> each(const Run& places) const;
  [[nodiscard]] std::vector<Range> by_node(const Levels& levels, int lane = 0) const;

 private:
  [[nodiscard]] std::int64_t offset(int place) const { return offsets_[static_cast<std::size_t>(place)]; }
  [[nodiscard]] std::vector<Composition::Copy> copies(bool out) const;

  std::vector<Range> blocks_;
  std::vector<std::int64_t> offsets_{0};
  bool direct_ = true;
  Range row_;
};

std::vector<Range> input_blocks(const Problem& p);
std::vector<Range> output_blocks(const Problem& p);

/// Cuts a range into blocks of the same length.
std::vector<Range> equal_blocks(const Range& whole, int count, std::int64_t bytes);

}  // namespace antiphon
