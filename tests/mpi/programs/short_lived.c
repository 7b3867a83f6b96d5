// SPDX-License-Identifier: Apache-2.0
// Calls a collective on new communicators of all ranks, and checks the values of the last call:
// short_lived allreduce|sums|bcast COMMUNICATORS CALLS VALUES [LESS], so many calls on each, each of LESS values fewer
// than the one before. Sums are those of doubles, whose order of operations counts; allreduce takes integers.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "verdict.h"

typedef union {
  long long integer;
  double real;
} Value;

static Value value(int real, long long number) {
  Value v;
  if (real) v.real = (double)number;
  else v.integer = number;
  return v;
}

int main(int argc, char** argv) {
  int rank, size;
  long wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 5 && argc != 6) MPI_Abort(MPI_COMM_WORLD, 2);
  const int real = strcmp(argv[1], "sums") == 0;
  const int reduces = real || strcmp(argv[1], "allreduce") == 0;
  const int communicators = atoi(argv[2]);
  const int calls = atoi(argv[3]);
  const int values = atoi(argv[4]);
  const int less = argc > 5 ? atoi(argv[5]) : 0;
  const MPI_Datatype type = real ? MPI_DOUBLE : MPI_LONG_LONG;
  Value* mine = malloc((size_t)values * sizeof(Value));
  Value* all = malloc((size_t)values * sizeof(Value));
  for (int c = 0; c < communicators; ++c) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int call = 0; call < calls; ++call) {
      for (int i = 0; i < values; ++i) {
        mine[i] = value(real, rank + i);
        all[i] = value(real, rank == 0 ? call + i : -1);
      }
      const int count = values - call * less;
      if (reduces) MPI_Allreduce(mine, all, count, type, MPI_SUM, comm);
      else MPI_Bcast(all, count, type, 0, comm);
    }
    MPI_Comm_free(&comm);
  }
  for (int i = 0; i < values - (calls - 1) * less; ++i) {
    const Value right = value(real, reduces ? size * (size - 1) / 2 + (long long)size * i : calls - 1 + i);
    wrong += memcmp(&all[i], &right, sizeof right) != 0;
  }
  free(mine);
  free(all);
  tell_verdict(wrong);
  MPI_Finalize();
  return 0;
}
