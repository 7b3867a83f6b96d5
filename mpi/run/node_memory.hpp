// SPDX-License-Identifier: Apache-2.0
// The memory that the ranks of a communicator share on this node: schedules' messages within the node move through it.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "shm/messenger.hpp"
#include "shm/segment.hpp"

namespace antiphon::mpi {

class NodeMemory {
 public:
  /// From this length on, one copy by the system takes less time than two through a ring.
  static constexpr std::size_t usual_fetched_bytes = 16 << 10;
  static constexpr std::size_t never_fetched_bytes = SIZE_MAX;

  /// Returns a rank's index among those of the node; −1: it is on another node.
  [[nodiscard]] int index_of(int rank) const { return index_of_rank_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] shm::Messenger& messenger() { return messenger_; }
  /// Returns the MPI error code of messages that are lost, with a text that says why.
  [[nodiscard]] int error_of_loss();

 private:
  friend class NodeMemorySetUp;

  NodeMemory(shm::Segment segment, const shm::Layout& layout, shm::Messenger::Terms terms,
             std::vector<int> index_of_rank)
      : segment_(std::move(segment)), messenger_(segment_.memory(), layout, std::move(terms)),
        index_of_rank_(std::move(index_of_rank)) {}

  shm::Segment segment_;
  shm::Messenger messenger_;
  std::vector<int> index_of_rank_;
};

/// Counts what this process's schedules sent to ranks of its node.
struct NodeTraffic {
  struct Way {
    std::atomic<std::int64_t> messages{0}, bytes{0};
    void note(std::int64_t message_bytes) {
      messages.fetch_add(1, std::memory_order_relaxed);
      bytes.fetch_add(message_bytes, std::memory_order_relaxed);
    }
  };
  Way shared;   ///< through memory that they share
  Way library;  ///< as the library's messages
};
inline NodeTraffic node_traffic;

}  // namespace antiphon::mpi
