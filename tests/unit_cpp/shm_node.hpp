// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstddef>
#include <deque>
#include <vector>

#include <doctest/doctest.h>

#include "shm/messenger.hpp"
#include "shm/segment.hpp"

namespace antiphon {

/// All ranks of a node in this process, each with its side of one segment.
struct Node {
  shm::Segment segment;
  std::deque<shm::Messenger> ranks;

  Node(int size, std::size_t ring_bytes, std::size_t least_lent_bytes)
      : segment(shm::Segment::make(shm::Layout{size, ring_bytes}.bytes(), size)) {
    REQUIRE(!segment.empty());
    const std::vector<pid_t> processes(static_cast<std::size_t>(size), getpid());
    for (int self = 0; self < size; ++self)
      ranks.emplace_back(segment.memory(), shm::Layout{size, ring_bytes},
                         shm::Messenger::Terms{self, least_lent_bytes, processes});
  }
  [[nodiscard]] shm::Messenger& rank(int index) { return ranks[static_cast<std::size_t>(index)]; }
};

}  // namespace antiphon
