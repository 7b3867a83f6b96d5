// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "shm/messenger.hpp"

namespace antiphon::mpi {

/// Holds the transfers of one runner that are under way in a node's memory. As Requests, each has an owner.
template <class Owner>
class NodeTransfers {
 public:
  NodeTransfers() = default;
  ~NodeTransfers() {
    if (active() > 0) messenger_->abandon();
  }
  NodeTransfers(const NodeTransfers&) = delete;
  NodeTransfers& operator=(const NodeTransfers&) = delete;

  /// Sets what moves all transfers from now on; none may be under way.
  void use(shm::Messenger* messenger) { messenger_ = messenger; }
  [[nodiscard]] std::size_t active() const { return active_.size() + ended_.size(); }
  [[nodiscard]] bool any_ended() const { return !ended_.empty(); }
  [[nodiscard]] bool failed() const { return messenger_->failed(); }
  void look_for_lost_ranks() { messenger_->look_for_lost_ranks(); }

  /// Leaves all that are under way to the messenger, which still knows where they are.
  void forget_all() {
    if (active() == 0) return;
    static_cast<void>(new auto(std::move(entries_)));
    entries_.clear();
    for (auto* const each : {&free_, &active_, &ended_}) each->clear();
  }

  /// Starts a transfer with the rank of this index on the node.
  void start(const Owner& owner, bool sends, int peer, int tag, std::byte* at, std::size_t bytes) {
    if (free_.empty()) free_.push_back(&entries_.emplace_back());
    Entry* const entry = free_.back();
    free_.pop_back();
    entry->owner = owner;
    shm::Transfer& transfer = entry->transfer;
    transfer.peer = peer;
    transfer.tag = tag;
    transfer.at = at;
    transfer.bytes = bytes;
    sends ? messenger_->send(transfer) : messenger_->receive(transfer);
    active_.push_back(entry);
  }

  /// Advances all, and finds out which have ended.
  void look() {
    if (active_.empty()) return;
    messenger_->look();
    for (std::size_t i = 0; i < active_.size();) {
      if (!active_[i]->transfer.done.load(std::memory_order_acquire)) {
        ++i;
        continue;
      }
      ended_.push_back(active_[i]);
      active_[i] = active_.back();
      active_.pop_back();
    }
  }

  /// Calls finish(owner) for each that has ended; it may start others, and returns an MPI error code.
  template <class Finish>
  int retire(Finish&& finish) {
    while (!ended_.empty()) {
      const Owner owner = ended_.back()->owner;
      free_.push_back(ended_.back());
      ended_.pop_back();
      if (const int rc = finish(owner); rc != 0) return rc;
    }
    return 0;
  }

 private:
  struct Entry {
    shm::Transfer transfer;
    Owner owner;
  };

  shm::Messenger* messenger_ = nullptr;
  std::deque<Entry> entries_;  ///< which stay where they are
  std::vector<Entry*> free_, active_, ended_;
};

}  // namespace antiphon::mpi
