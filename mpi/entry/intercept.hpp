// SPDX-License-Identifier: Apache-2.0
// Every wrapped collective arrives here: describe, choose, prepare and run it, or leave it to the library.
#pragma once

#include <mpi.h>

#include "call/call.hpp"
#include "entry/outcome.hpp"

namespace antiphon::mpi {

/// Runs the call as a schedule if that is the decision. If the call is not done, nothing has been sent or reported: the
/// caller calls the library, then passed_on(). Whether it is done is the same on every rank of the communicator.
Outcome accelerate(const Call& call);
/// Makes known what nonblocking calls on the neighbours of a new communicator cannot ask all ranks for. Collective.
void prepare_neighbours(MPI_Comm comm);
/// Reports a call that accelerate() left to the library to the summary and the trace; the library has done it.
void passed_on(const Call& call, const Outcome& outcome);

}  // namespace antiphon::mpi
