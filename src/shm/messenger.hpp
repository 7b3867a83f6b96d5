// SPDX-License-Identifier: Apache-2.0
// Messages between the ranks of a node through memory that all of them map. Between each two ranks run two rings, one
// each way. A message is copied into its ring and out of it; a long one is lent: the ring carries its address, and the
// receiver fetches it from the sender's memory with one copy, where the system allows that.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <vector>

#include "shm/incoming.hpp"
#include "shm/outgoing.hpp"
#include "shm/transfer.hpp"

namespace antiphon::shm {

/// Says how the shared memory is divided; the same for all ranks of the node.
struct Layout {
  int ranks = 0;
  std::size_t ring_bytes = 0;  ///< of the data of one ring; a power of two

  /// Returns a layout whose rings are as long as is useful, shorter for many ranks.
  static Layout for_ranks(int ranks);
  [[nodiscard]] std::size_t bytes() const;
};

/// One rank's side. Messages from one rank to another match in the order of their starts within a tag, and both sides
/// know how long they are. All functions may be called by several threads.
///
///     messenger.send(one); messenger.receive(other);
///     while (!one.done || !other.done) messenger.look();
class Messenger {
 public:
  struct Terms {
    int self = 0;                  ///< index of this rank
    std::size_t least_lent_bytes;  ///< messages from this length on are lent; SIZE_MAX: none
    std::vector<pid_t> processes;  ///< of each rank
  };
  /// `memory` is what the layout needs, all zero before the first rank uses it, and stays mapped.
  Messenger(std::byte* memory, const Layout& layout, Terms terms);

  void send(Transfer& transfer);
  void receive(Transfer& transfer);
  /// Advances all transfers without waiting.
  void look();

  /// Tells whether messages were lost: nothing moves any more.
  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_relaxed); }
  /// A message whose two ends do not agree on its length.
  struct Mismatch {
    int sender = 0;  ///< index
    Lengths bytes;
  };
  /// Returns what made messages be lost, if it was that.
  [[nodiscard]] std::optional<Mismatch> mismatch();
  /// Fails if a rank with which transfers are under way is gone.
  void look_for_lost_ranks();
  /// Forgets all transfers, which may then go, and fails.
  void abandon();

 private:
  void list(std::vector<int>& listed, bool& is_listed, int peer);

  std::mutex mutex_;
  std::vector<Outgoing> outgoing_;  ///< by rank, as all that follows
  std::vector<Incoming> incoming_;
  std::vector<int> sending_;  ///< ranks with transfers under way
  std::vector<int> receiving_;
  std::vector<pid_t> processes_;
  std::atomic<bool> failed_{false};
};

}  // namespace antiphon::shm
