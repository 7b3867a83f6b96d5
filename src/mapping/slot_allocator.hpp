// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "antiphon/mapping.hpp"

namespace antiphon::mapping {

/// Gives out the slots of a machine to ranks, one rank after the other.
class SlotAllocator {
 public:
  explicit SlotAllocator(const Task& task);

  /// Gives every pinned rank its slot. Throws InvalidArgument if two ranks want the same core.
  void pin_all();
  /// Gives the rank the lowest free slot of the node. Returns false if the node is full.
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
  std::vector<int> free_;  ///< free slots, by node
  std::vector<int> next_;  ///< by node: no slot below this one is free
};

/// Puts pinned ranks where they must be and fills one node after the other with the rest.
Assignment block_assignment(const Task& task);
/// Puts pinned ranks where they must be and deals the rest to the nodes in turn.
Assignment cyclic_assignment(const Task& task);

}  // namespace antiphon::mapping
