// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "patterns/cut.hpp"

namespace antiphon {

/// Messages dealt in turn to a few queues: within a queue each message follows the one before, and the queues advance
/// independently of each other.
class MessageQueues {
 public:
  MessageQueues(std::int64_t queues, Cut cut) : queues_(static_cast<std::size_t>(queues)), cut_(cut) {}
  /// What the next message of the queue in turn waits for: the queue's last message, piece by piece.
  [[nodiscard]] Dep next() const {
    const auto& queue = queues_[at_];
    return queue.empty() ? Dep(no_op) : following(queue.back().id, queue.back().pieces, cut_);
  }
  /// The same, but messages with fewer pieces than the window count too: no more pieces than the window are under way.
  [[nodiscard]] Dep within_window() const {
    const auto& queue = queues_[at_];
    std::int64_t pieces = 0;
    for (auto message = queue.rbegin(); message != queue.rend(); ++message) {
      pieces += message->pieces;
      if (pieces >= cut_.window) return following(message->id, pieces, cut_);
    }
    return no_op;
  }
  void add(OpId id, std::int64_t bytes) {
    queues_[at_].push_back({id, pieces_of(bytes, cut_)});
    at_ = (at_ + 1) % queues_.size();
  }

 private:
  struct Message {
    OpId id = no_op;
    std::int64_t pieces = 0;
  };
  std::vector<std::vector<Message>> queues_;
  std::size_t at_ = 0;
  Cut cut_;
};

}  // namespace antiphon
