// SPDX-License-Identifier: Apache-2.0
// How a datatype was made, and of which others.
#pragma once

#include <mpi.h>

#include <vector>

namespace antiphon::mpi {

/// How a datatype was made: what its envelope says.
struct Making {
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = MPI_COMBINER_NAMED;
  bool large = false;  ///< with large counts, for which the contents have another form
};
bool how_made(MPI_Datatype type, Making& making);

/// A type made of one other, and how.
struct Parts {
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  MPI_Datatype base;
};
/// Not of types with large counts.
bool parts_of(MPI_Datatype type, const Making& making, Parts& parts);
/// What MPI_Type_get_contents has given belongs to the caller unless it is predefined.
void give_back(MPI_Datatype& part);

}  // namespace antiphon::mpi
