// SPDX-License-Identifier: Apache-2.0
// Who carries which block where ranks stand on several switches: so that each block crosses an uplink once, and all
// ranks of a switch carry about as many.
#pragma once

#include <vector>

#include "antiphon/problem.hpp"
#include "patterns/levels.hpp"

namespace antiphon {

/// Each rank of a switch carries its own block and, of each other switch, the blocks of about as many ranks as any
/// other rank here. The blocks are in passes: those that go round the ring of the switch together, one of each rank at
/// most. The first pass has the ranks' own blocks.
class SwitchBlocks {
 public:
  explicit SwitchBlocks(const Problem& p);

  [[nodiscard]] Run own() const { return switches_.own(); }
  /// Of one switch.
  [[nodiscard]] int most_ranks() const { return most_ranks_; }
  /// By pass, and by place within this rank's switch: whose block; −1: none.
  [[nodiscard]] const std::vector<std::vector<int>>& passes() const { return passes_; }
  /// The ranks of the other switches that carry this rank's block.
  [[nodiscard]] const std::vector<int>& carriers() const { return carriers_; }

 private:
  Levels switches_;
  int most_ranks_;
  std::vector<std::vector<int>> passes_;
  std::vector<int> carriers_;
};

/// The cut of messages over an uplink that so many ranks send at a time, of the parameters "uplink_bytes" and
/// "segment_bytes".
Cut uplink_cut(const Problem& p, int senders);

/// Waits for an operation that is cut in one way from one that is cut in another: piece by piece if both ways are one.
Dep after(OpId op, const Cut& cut, const Cut& other);

}  // namespace antiphon
