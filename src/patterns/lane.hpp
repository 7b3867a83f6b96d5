// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "antiphon/schedule.hpp"

namespace antiphon {

/// A sequence of messages with their bytes numbered from 0 across all of them. Operations that a lane paces keep within
/// `window` pieces of what is complete in it, across the borders of messages. So a wire is never idle between two
/// messages, a few long ones are in lock-step piece by piece, and many short ones that fit into the window together do
/// not wait. A message of one piece (piece_bytes 0) counts as a piece, whatever its length.
///
/// The rule, exactly: a piece whose first byte has the number b waits for all pieces of the lane whose first byte has a
/// number of at most b − window·piece_bytes.
class Lane {
 public:
  /// `cut`: how the messages of this lane are cut, and how many of its pieces may be started and not complete.
  explicit Lane(const Cut& cut) : cut_(cut) {}

  /// The number of the next message's first byte.
  [[nodiscard]] std::int64_t end() const { return end_; }
  /// Makes the operation added last to `s`, an operation of this lane, keep the lane's window; then the next one
  /// follows it. Where messages are very short, an operation without bytes may come after it.
  void append(Schedule& s);
  /// Makes the operation added last to `s` keep within `window` pieces, as if its first byte had the number `start`. A
  /// token paced at `start` is sent when the piece that starts there may be posted.
  void pace(Schedule& s, std::int64_t start, std::int32_t window) const;

 private:
  struct Message {
    OpId op;
    std::int64_t start, end, pieces;
    OpId join = no_op;  ///< all messages up to this one are complete, where one operation says so
  };
  [[nodiscard]] bool joins_pay() const;
  void join(Schedule& s);
  [[nodiscard]] std::int64_t unit() const { return cut_.piece_bytes > 0 ? cut_.piece_bytes : 1; }

  Cut cut_;
  std::int64_t end_ = 0;
  std::vector<Message> messages_;
  std::size_t joined_ = 0;  ///< so many messages have a join
};

}  // namespace antiphon
