// SPDX-License-Identifier: Apache-2.0
// Tags of messages on Antiphon's own communicators, by what they are for.
#pragma once

namespace antiphon::mpi {

/// Blocking calls have the tags below `first_of_operations`. Operations beside the calls have those from there on. The
/// greatest tags are one for each rank: messages between leaders and followers carry what it multicasts.
struct OwnTags {
  static constexpr int first_of_operations = 32768;

  int greatest;  ///< that the library takes
  int ranks;     ///< of the communicator

  /// Tells whether there are tags for senders of multicasts; the same on all ranks.
  [[nodiscard]] constexpr bool has_senders() const { return greatest - ranks >= first_of_operations - 1; }
  [[nodiscard]] constexpr int of_sender(int rank) const { return greatest - rank; }
  [[nodiscard]] constexpr int last_of_operations() const { return has_senders() ? greatest - ranks : greatest; }
};

}  // namespace antiphon::mpi
