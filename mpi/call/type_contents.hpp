// SPDX-License-Identifier: Apache-2.0
// These functions tell how a datatype is made, and from which other types.
#pragma once

#include <mpi.h>

#include <vector>

namespace antiphon::mpi {

/// Holds what a datatype's envelope says about how the type is made.
struct Making {
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = MPI_COMBINER_NAMED;
  bool large = false;  ///< made with large counts; its contents have another form then
};
bool how_made(MPI_Datatype type, Making& making);
/// Tells whether nobody frees the type: a named one, or one of Fortran's kinds, which have contents all the same.
bool is_predefined_type(MPI_Datatype type);

/// Holds a type that is made of one other, and how it is made.
struct Parts {
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  MPI_Datatype base;
};
/// Reads the parts of a type; types with large counts have no such parts.
bool parts_of(MPI_Datatype type, const Making& making, Parts& parts);
/// Frees a type from MPI_Type_get_contents, which belongs to the caller unless it is predefined.
void give_back(MPI_Datatype& part);

}  // namespace antiphon::mpi
