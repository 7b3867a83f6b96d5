// SPDX-License-Identifier: Apache-2.0
// MPI lets a rank look only at arguments that are significant on it. All others may be anything.
#pragma once

#include "call/call.hpp"

namespace antiphon::mpi {

/// The length that arrays have on each side of a collective; 0 where the side's counts and places mean nothing here.
struct Significant {
  int send = 0;
  int receive = 0;
};
Significant significant(const Call& call);
/// Returns the same for a call on an intracommunicator that is not of neighbours.
Significant significant(const Call& call, int rank, int size);

}  // namespace antiphon::mpi
