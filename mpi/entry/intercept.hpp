// SPDX-License-Identifier: Apache-2.0
// Every wrapped collective arrives here: describe, choose, prepare and run it, or leave it to the library.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "call/call.hpp"

namespace antiphon::mpi {

/// Says that a call is done, or why the library does it.
enum class Fate : std::uint8_t {
  unseen,           ///< calls are not looked at now
  done,             ///< done here; the library must not see the call
  foreign,          ///< an intercommunicator, a single rank, or processes of other jobs
  short_exchange,   ///< all ranks know that this alltoallv is short
  same_neighbours,  ///< a neighbour collective for the library, or with blocks that cannot be told apart
  not_schedulable,  ///< wrong or unusual arguments, or nothing to move
  library_chosen,   ///< the library is the choice
  gaps,             ///< what was chosen cannot move elements with gaps
  device_memory,    ///< some rank's buffers are in a GPU's memory
  unsolvable,       ///< what was chosen cannot solve this problem
};

struct Outcome {
  Fate fate = Fate::unseen;
  int result = MPI_SUCCESS;  ///< what the MPI function returns, if the call is done
  std::int64_t bytes = 0;    ///< what this rank hands in or gets, as far as it is known
  double began_s = 0;        ///< now_s(), if time is counted

  [[nodiscard]] bool done() const { return fate == Fate::done; }
};

/// Runs the call as a schedule if that is the decision. If the call is not done, nothing has been sent or reported: the
/// caller calls the library, then passed_on(). Whether it is done is the same on every rank of the communicator.
Outcome accelerate(const Call& call);
/// Reports a call that accelerate() left to the library to the summary and the trace; the library has done it.
void passed_on(const Call& call, const Outcome& outcome);

}  // namespace antiphon::mpi
