// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>

namespace antiphon::shm {

/// One message to or from another rank of the node, seen from one side. It stays in place from its start until it is
/// done.
struct Transfer {
  int peer = 0;  ///< index among the node's ranks
  int tag = 0;
  std::byte* at = nullptr;  ///< what is sent, or where it is received
  std::size_t bytes = 0;
  std::atomic<bool> done{false};
  Transfer* next = nullptr;  ///< in the queue that holds it
};

/// Transfers in the order in which they were added.
class TransferQueue {
 public:
  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  [[nodiscard]] Transfer* front() const { return first_; }
  void push(Transfer& transfer) {
    transfer.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &transfer;
    last_ = &transfer;
  }
  void pop() { first_ = first_->next; }
  /// Takes out the first one with this tag; returns null if there is none.
  Transfer* take(int tag) {
    Transfer* before = nullptr;
    for (Transfer* one = first_; one != nullptr; before = one, one = one->next) {
      if (one->tag != tag) continue;
      (before == nullptr ? first_ : before->next) = one->next;
      if (one == last_) last_ = before;
      return one;
    }
    return nullptr;
  }
  void clear() { first_ = last_ = nullptr; }

 private:
  Transfer* first_ = nullptr;
  Transfer* last_ = nullptr;
};

}  // namespace antiphon::shm
