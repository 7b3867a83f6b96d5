/* SPDX-License-Identifier: Apache-2.0 */
/* Makes communicators by each constructor that all ranks of a parent call, and exchanges on each: first without
 * waiting, then by a call that waits. Prints "verified". */
#include <mpi.h>
#include <stdio.h>

#include "verdict.h"

enum { most_ranks = 8, count = 500 };

static int rank, size;
static long wrong;

static void exchange(MPI_Comm comm) {
  static int sent[most_ranks * count], got[most_ranks * count];
  int here, ranks, counts[most_ranks], places[most_ranks];
  MPI_Request request;
  if (comm == MPI_COMM_NULL) return;
  MPI_Comm_rank(comm, &here);
  MPI_Comm_size(comm, &ranks);
  for (int i = 0; i < ranks * count; i++) sent[i] = 100 * here + i / count, got[i] = -1;
  MPI_Ialltoall(sent, count, MPI_INT, got, count, MPI_INT, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < ranks * count; i++) wrong += got[i] != 100 * (i / count) + here, got[i] = -1;
  for (int r = 0; r < ranks; r++) counts[r] = count, places[r] = r * count;
  MPI_Alltoallv(sent, counts, places, MPI_INT, got, counts, places, MPI_INT, comm);
  for (int i = 0; i < ranks * count; i++) wrong += got[i] != 100 * (i / count) + here;
}

static void end(MPI_Comm comm) {
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
}

static MPI_Comm without_last(void) {
  const int last = size - 1;
  MPI_Group all, some;
  MPI_Comm made;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_excl(all, 1, &last, &some);
  MPI_Comm_create(MPI_COMM_WORLD, rank == last ? MPI_GROUP_EMPTY : some, &made);
  MPI_Group_free(&all);
  MPI_Group_free(&some);
  return made;
}

static void grids(void) {
  const int dims[2] = {2, 2}, periods[2] = {0, 0}, kept[2] = {0, 1};
  MPI_Comm grid, row = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  exchange(grid);
  if (grid != MPI_COMM_NULL) MPI_Cart_sub(grid, kept, &row);
  exchange(row);
  end(row);
  end(grid);
}

static void graphs(void) {
  const int index[3] = {1, 3, 4}, edges[4] = {1, 0, 2, 1};
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size, one = 1;
  MPI_Comm made;
  MPI_Graph_create(MPI_COMM_WORLD, 3, index, edges, 0, &made);
  exchange(made);
  end(made);
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &one, &next, &one, MPI_INFO_NULL, 0, &made);
  exchange(made);
  end(made);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &previous, &one, 1, &next, &one, MPI_INFO_NULL, 0, &made);
  exchange(made);
  end(made);
}

int main(int argc, char** argv) {
  MPI_Comm made, again;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  exchange(MPI_COMM_WORLD);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 1 ? MPI_UNDEFINED : rank % 2, -rank, &made);
  exchange(made);
  end(made);
  MPI_Comm_dup(MPI_COMM_WORLD, &made);
  exchange(made);
  MPI_Comm_dup_with_info(made, MPI_INFO_NULL, &again);
  exchange(again);
  end(made);
  exchange(again);
  end(again);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &made);
  exchange(made);
  end(made);
  made = without_last();
  exchange(made);
  end(made);
  grids();
  graphs();
  tell_verdict(wrong);
  MPI_Finalize();
  return 0;
}
