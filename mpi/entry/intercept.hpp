// SPDX-License-Identifier: Apache-2.0
// Every wrapped collective arrives here: describe, choose, prepare and run it, or leave it to the library.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string_view>

#include "call/call.hpp"
#include "entry/fate.hpp"
#include "observe/summary.hpp"

namespace antiphon::mpi {

class CommState;

struct Outcome {
  Fate fate = Fate::unseen;
  int result = MPI_SUCCESS;  ///< what the MPI function returns, if the call is done
  std::int64_t bytes = 0;    ///< what this rank hands in or gets, as far as it is known
  double began_s = 0;        ///< now_s(), if time is counted
  // The rest is for the summary.
  std::int64_t block_bytes = summary::unknown_bytes;
  std::string_view why = {};  ///< says more than reason_of(fate); valid until the communicator's next call
  CallName name = 0;
  std::int64_t ranks = 1;
  CommState* timed = nullptr;  ///< of a call that the library does while its time is wanted

  [[nodiscard]] bool done() const { return fate == Fate::done; }
};

/// Runs the call as a schedule if that is the decision. If the call is not done, nothing has been sent or reported: the
/// caller calls the library, then passed_on(). Whether it is done is the same on every rank of the communicator.
Outcome accelerate(const Call& call);
/// Makes known what nonblocking calls on the neighbours of a new communicator cannot ask all ranks for. Collective.
void prepare_neighbours(MPI_Comm comm);
/// Reports a call that accelerate() left to the library to the summary and the trace; the library has done it.
void passed_on(const Call& call, const Outcome& outcome);

}  // namespace antiphon::mpi
