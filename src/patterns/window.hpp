// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "antiphon/schedule.hpp"

namespace antiphon {

/// Messages to and from many ranks, at most `window` under way in each direction; empty ones are left out. If all ranks
/// add their messages in the order of common phases, a message waits only for messages of earlier phases, so there is
/// no deadlock.
class WindowedMessages {
 public:
  WindowedMessages(Schedule& s, std::int64_t window, const Cut& cut)
      : s_(s), window_(static_cast<std::size_t>(window)), cut_(cut) {}

  void send(int to, Range from) {
    if (from.bytes > 0) sends_.push_back(s_.send(to, from, {oldest(sends_)}, cut_));
  }
  void recv(int from, Range to) {
    if (to.bytes > 0) recvs_.push_back(s_.recv(from, to, {oldest(recvs_)}, cut_));
  }

 private:
  [[nodiscard]] OpId oldest(const std::vector<OpId>& ops) const {
    return ops.size() < window_ ? no_op : ops[ops.size() - window_];
  }

  Schedule& s_;
  std::size_t window_;
  Cut cut_;
  std::vector<OpId> sends_, recvs_;
};

}  // namespace antiphon
