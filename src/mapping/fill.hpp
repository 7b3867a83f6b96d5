// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "antiphon/mapping.hpp"

namespace antiphon::mapping {

/// Slots being given out, one rank after the other.
class Places {
 public:
  explicit Places(const Task& task);

  /// Gives every pinned rank its place; throws InvalidArgument where two want the same core.
  void pin_all();
  /// The lowest free slot of a node; false where it is full.
  bool put(int rank, int node);
  void put_at(int rank, int slot);
  [[nodiscard]] bool placed(int rank) const { return assignment_.slot_of_rank[static_cast<std::size_t>(rank)] >= 0; }
  [[nodiscard]] bool taken(int slot) const { return taken_[static_cast<std::size_t>(slot)] != 0; }
  [[nodiscard]] int free_slots(int node) const { return free_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] Assignment assignment() const { return assignment_; }

 private:
  const Task& task_;
  Assignment assignment_;
  std::vector<char> taken_;
  std::vector<int> free_;  ///< slots, by node
  std::vector<int> next_;  ///< no slot of the node below this one is free
};

/// Pinned ranks where they must be, the others one node after the other.
Assignment block_assignment(const Task& task);
/// Pinned ranks where they must be, the others a node each in turn.
Assignment cyclic_assignment(const Task& task);

}  // namespace antiphon::mapping
