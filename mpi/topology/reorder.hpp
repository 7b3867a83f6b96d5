// SPDX-License-Identifier: Apache-2.0
// MPI's own way to place ranks is the `reorder` argument of the topology constructors, which most libraries ignore.
// With ANTIPHON_REORDER, a new communicator's ranks are ordered by the neighbours that the program declares and by the
// machine.
#pragma once

#include <mpi.h>

namespace antiphon::mpi::reordering {

// Each function makes the communicator with its ranks in a better order; `result` is what the MPI function returns. It
// returns false, on all ranks alike, if it has made nothing and the library's own function must be called: the user
// does not ask for an order (ANTIPHON_REORDER), the program does not allow it (`reorder`), arguments are wrong, or no
// order is better.

bool cart_create(MPI_Comm old, int dimensions, const int* dims, const int* periods, int reorder, MPI_Comm* made,
                 int& result);
bool graph_create(MPI_Comm old, int nodes, const int* index, const int* edges, int reorder, MPI_Comm* made,
                  int& result);
bool dist_graph_create(MPI_Comm old, int n, const int* sources, const int* degrees, const int* destinations,
                       const int* weights, MPI_Info info, int reorder, MPI_Comm* made, int& result);
bool dist_graph_create_adjacent(MPI_Comm old, int indegree, const int* sources, const int* source_weights,
                                int outdegree, const int* destinations, const int* destination_weights, MPI_Info info,
                                int reorder, MPI_Comm* made, int& result);

}  // namespace antiphon::mpi::reordering
