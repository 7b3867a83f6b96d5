// SPDX-License-Identifier: Apache-2.0
// Messages between a job and one that it spawned, which may run without Antiphon, and within each; and a ring of both,
// whose ranks may be ordered anew. Prints "verified" if all arrive unchanged.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { n = 4000, rounds = 12 };

static double value(int round, int i, int from) { return from + 1e-3 * round + 1e-4 * i; }

/// Both sides send to and receive from each other, by blocking calls and by requests.
static int exchange(MPI_Comm comm, int peer, int here, int there) {
  double* v = malloc(2 * n * sizeof *v);
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    MPI_Request r[2];
    MPI_Status status;
    int count = 0;
    for (int i = 0; i < n; ++i) v[i] = value(round, i, here);
    MPI_Isend(v, n, MPI_DOUBLE, peer, round, comm, &r[0]);
    MPI_Probe(peer, round, comm, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    MPI_Irecv(v + n, n, MPI_DOUBLE, peer, round, comm, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    wrong += count != n;
    for (int i = 0; i < n; ++i) wrong += v[n + i] != value(round, i, there);
  }
  free(v);
  return wrong;
}

/// Makes a graph in which each rank sends to the next one, in any order of ranks.
static int make_ring(MPI_Comm comm) {
  int rank = 0, size = 0, new_rank = 0, new_size = 0;
  MPI_Comm ring;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  MPI_Dist_graph_create_adjacent(comm, 1, &previous, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &ring);
  MPI_Comm_rank(ring, &new_rank);
  MPI_Comm_size(ring, &new_size);
  MPI_Comm_free(&ring);
  return new_size != size || new_rank < 0 || new_rank >= size;
}

int main(int argc, char** argv) {
  int rank = 0, wrong = 0;
  MPI_Comm parent, both, merged;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_parent(&parent);
  const int spawned = parent != MPI_COMM_NULL;
  if (spawned) both = parent;
  else MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &both, MPI_ERRCODES_IGNORE);
  wrong += exchange(both, rank, 10 * spawned + rank, 10 * !spawned + rank);
  wrong += exchange(MPI_COMM_WORLD, 1 - rank, rank, 1 - rank);
  MPI_Intercomm_merge(both, spawned, &merged);
  wrong += exchange(merged, (2 * !spawned) + rank, 10 * spawned + rank, 10 * !spawned + rank);
  wrong += make_ring(merged);
  int all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, merged);
  if (!spawned && rank == 0) printf(all == 0 ? "verified\n" : "%d wrong\n", all);
  MPI_Comm_free(&merged);
  MPI_Comm_disconnect(&both);
  MPI_Finalize();
  return 0;
}
