// SPDX-License-Identifier: Apache-2.0
// Operations that are under way at the same time on one communicator need messages with different tags.
#pragma once

#include <optional>

#include "antiphon/schedule.hpp"
#include "call/greatest_tag.hpp"

namespace antiphon::mpi {

/// Gives out ranges of tags by the operation's number on its communicator. That is the same on all ranks, because all
/// initialise and start operations in the same order. The answer is nothing if this library has too few tags.
class OperationTags {
 public:
  /// Returns the first tag for a persistent operation, which may last for the whole run: no other one ever has it.
  std::optional<int> for_persistent() {
    if (persistent_ == pairs()) return std::nullopt;
    return take(persistent_++, 0);
  }
  /// Returns the first tag for a nonblocking call. It never meets that of a persistent operation, however many calls
  /// there are.
  std::optional<int> for_nonblocking() { return take(nonblocking_++, 1); }

 private:
  /// The tags below are those of blocking calls.
  static constexpr int first = 32768;
  static constexpr int each = schedule_tags;

  static std::optional<int> take(unsigned number, unsigned half) {
    if (pairs() == 0) return std::nullopt;
    return first + static_cast<int>(2 * (number % pairs()) + half) * each;
  }
  static unsigned pairs() {
    static const int most = greatest_tag();
    return most > first ? static_cast<unsigned>((most - first) / (2 * each)) : 0;
  }

  unsigned persistent_ = 0, nonblocking_ = 0;
};

}  // namespace antiphon::mpi
