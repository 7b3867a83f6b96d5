// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "antiphon/schedule.hpp"

namespace antiphon {

/// Says what a replay counts as time.
enum class Clock : std::uint8_t {
  /// Every message takes one unit and is never cut: the rounds that a textbook counts. Tokens take none, unless there
  /// is nothing but tokens.
  rounds,
  /// Every piece takes as many units as it has bytes, tokens none: the time on the wire of an ideal network.
  bytes,
};

/// One message, or piece of one, on its way.
struct Transfer {
  int from = 0;
  int to = 0;
  std::int64_t bytes = 0;  ///< 0: a token
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const Transfer&) const = default;
};

struct Replay {
  std::vector<Transfer> transfers;  ///< in the order in which they begin
  std::int64_t end = 0;
};

/// Runs all ranks' schedules (one per rank) on an ideal network. A port sends one message at a time and receives one at
/// a time; nothing else ever waits, and local operations take no time. A port belongs to a rank when rounds are
/// counted, else to a node of `ranks_per_node` consecutive ranks, within which messages take no time. Tokens need no
/// port. Throws InvalidArgument for schedules that do not fit together (deadlock, peers that do not exist), or that
/// have more than `max_pieces` pieces of operations in all.
Replay replay(std::span<const Schedule> schedules, Clock clock, int ranks_per_node = 1,
              std::int64_t max_pieces = 1 << 24);

}  // namespace antiphon
