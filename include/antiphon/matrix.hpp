// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "antiphon/schedule.hpp"

namespace antiphon {

/// The number of messages and bytes between each pair of ranks, summed over a set of schedules.
struct Traffic {
  int size = 0;
  std::vector<std::int64_t> messages;  ///< [from · size + to]: pieces, tokens included
  std::vector<std::int64_t> bytes;     ///< [from · size + to]

  explicit Traffic(int ranks) : size(ranks), messages(cells(ranks)), bytes(cells(ranks)) {}
  Traffic& operator+=(const Traffic& other);
  [[nodiscard]] std::size_t cell(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(size) + static_cast<std::size_t>(to);
  }
  bool operator==(const Traffic&) const = default;

 private:
  static std::size_t cells(int ranks) { return static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks); }
};

/// Returns the messages that the schedules of all ranks (one per rank) send; a multicast counts for each of its
/// receivers. Throws InvalidArgument for a peer that does not exist.
Traffic traffic_of(std::span<const Schedule> schedules);

}  // namespace antiphon
