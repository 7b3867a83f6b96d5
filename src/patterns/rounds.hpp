// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "antiphon/schedule.hpp"

namespace antiphon {

/// Paces operations that belong to rounds (at most one message out and one in per round): a message of round i waits
/// for those of round i − window, so that a rank is at most about `window` rounds ahead of what it has received.
class RoundOrder {
 public:
  explicit RoundOrder(int window) : window_(static_cast<std::size_t>(window)) {}

  /// Begins the next round.
  void begin() {
    sends_.push_back(no_op);
    recvs_.push_back(no_op);
  }
  /// The tag of this round's messages: rounds that can be under way together have different ones.
  [[nodiscard]] int tag() const { return static_cast<int>((sends_.size() - 1) % tags); }
  /// The operation added last is this round's send.
  void sent(Schedule& s, OpId id) {
    s.after(past(sends_, window_));
    s.after(past(recvs_, window_));
    s.after(past(sends_, tags));
    sends_.back() = id;
  }
  /// The operation added last is this round's receive.
  void received(Schedule& s, OpId id) {
    s.after(past(recvs_, window_));
    s.after(past(recvs_, tags));
    recvs_.back() = id;
  }

 private:
  static constexpr std::size_t tags = 256;
  [[nodiscard]] static OpId past(const std::vector<OpId>& ops, std::size_t rounds) {
    return ops.size() > rounds ? ops[ops.size() - 1 - rounds] : no_op;
  }

  std::size_t window_;
  std::vector<OpId> sends_, recvs_;
};

}  // namespace antiphon
