// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "multicast/position.hpp"

namespace antiphon::multicast {

/// A member's child in a tree, whose whole subtree has all packets below `upto`.
struct Child {
  int member;
  Position upto = 0;
};
inline void note_subtree(std::vector<Child>& children, int member, Position upto) {
  for (Child& child : children) {
    if (child.member == member) child.upto = std::max(child.upto, upto);
  }
}

/// The tree that gathers acknowledgements for one sender's packets: members in order from the sender on, each with up
/// to `arity` children.
struct Tree {
  int root = 0, size = 1, arity = 4;

  [[nodiscard]] int parent(int member) const { return member_at((place_of(member) - 1) / arity); }
  [[nodiscard]] std::vector<Child> children(int member) const {
    std::vector<Child> result;
    const std::int64_t first = std::int64_t{place_of(member)} * arity + 1;
    for (std::int64_t place = first; place < first + arity && place < size; ++place)
      result.push_back({member_at(static_cast<int>(place))});
    return result;
  }
  /// Returns the child of the root that `member` is or is below: 0 … arity − 1.
  [[nodiscard]] int branch(int member) const {
    int place = place_of(member);
    while (place > arity) place = (place - 1) / arity;
    return place - 1;
  }

 private:
  [[nodiscard]] int place_of(int member) const { return (member - root + size) % size; }
  [[nodiscard]] int member_at(int place) const { return (place + root) % size; }
};

}  // namespace antiphon::multicast
