// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace antiphon::mpi {

/// Says that a call is done, or why the library does it.
enum class Fate : std::uint8_t {
  unseen,           ///< calls are not looked at now
  done,             ///< done here; the library must not see the call
  foreign,          ///< an intercommunicator, a single rank, or processes of other jobs
  short_exchange,   ///< all ranks know that this alltoallv is short
  few_neighbours,   ///< a neighbour collective in which no rank hears of many at once
  same_neighbours,  ///< a neighbour collective with blocks that cannot be told apart
  not_schedulable,  ///< wrong or unusual arguments, or nothing to move
  library_chosen,   ///< the library is the choice
  gaps,             ///< what was chosen cannot move elements with gaps
  device_memory,    ///< some rank's buffers are in a GPU's memory
  no_communicator,  ///< schedules' messages have no communicator of their own
  unsolvable,       ///< what was chosen cannot solve this problem
  // These are fates of nonblocking calls.
  no_progress,  ///< the library lets nothing advance beside its own calls
  waits_first,  ///< ranks would have to wait for each other before it begins
};

/// Says in users' words why the library does a call, for the summary; empty for a call that is done here. Where the
/// call was described or a rule decided, that says more.
std::string_view reason_of(Fate fate);

}  // namespace antiphon::mpi
