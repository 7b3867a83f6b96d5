// SPDX-License-Identifier: Apache-2.0
// Operations that are under way at the same time on one communicator need messages with different tags.
#pragma once

#include <optional>

#include "antiphon/schedule.hpp"
#include "call/greatest_tag.hpp"
#include "call/own_tags.hpp"

namespace antiphon::mpi {

/// Gives out ranges of tags by the operation's number on its communicator. That is the same on all ranks, because all
/// initialise and start operations in the same order. The answer is nothing if this library has too few tags.
class OperationTags {
 public:
  /// `ranks` is the size of the communicator.
  explicit OperationTags(int ranks) : ranks_(ranks) {}
  /// Returns the first tag for a persistent operation, which may last for the whole run: no other one ever has it.
  std::optional<int> for_persistent() {
    if (persistent_ == pairs()) return std::nullopt;
    return take(persistent_++, 0);
  }
  /// Returns the first tag for a nonblocking call. It never meets that of a persistent operation, however many calls
  /// there are.
  std::optional<int> for_nonblocking() { return take(nonblocking_++, 1); }

 private:
  static constexpr int first = OwnTags::first_of_operations;
  static constexpr int each = schedule_tags;

  [[nodiscard]] std::optional<int> take(unsigned number, unsigned half) const {
    if (pairs() == 0) return std::nullopt;
    return first + static_cast<int>(2 * (number % pairs()) + half) * each;
  }
  [[nodiscard]] unsigned pairs() const {
    static const int greatest = greatest_tag();
    const int last = OwnTags{greatest, ranks_}.last_of_operations();
    return last > first ? static_cast<unsigned>((last - first) / (2 * each)) : 0;
  }

  int ranks_;
  unsigned persistent_ = 0, nonblocking_ = 0;
};

}  // namespace antiphon::mpi
