// SPDX-License-Identifier: Apache-2.0
// Sends smooth messages of 64 KiB both ways on many communicators; each message can be predicted from earlier ones.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { communicators = 24, messages = 10, values = 8192 };

int main(int argc, char** argv) {
  static double out[values], in[values], want[values];
  static MPI_Comm comms[communicators];
  int rank, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int c = 0; c < communicators; ++c) MPI_Comm_dup(MPI_COMM_WORLD, &comms[c]);
  for (int m = 0; m < messages; ++m) {
    for (int c = 0; c < communicators; ++c) {
      for (int i = 0; i < values; ++i) {
        out[i] = 1 + 1e-7 * ((i * 7919) % 8191) + 1e-9 * m + rank;
        want[i] = 1 + 1e-7 * ((i * 7919) % 8191) + 1e-9 * m + (1 - rank);
      }
      MPI_Sendrecv(out, values, MPI_DOUBLE, 1 - rank, c, in, values, MPI_DOUBLE, 1 - rank, c, comms[c],
                   MPI_STATUS_IGNORE);
      wrong += memcmp(in, want, sizeof in) != 0;
    }
  }
  printf("%d wrong\n", wrong);
  MPI_Finalize();
  return wrong != 0;
}
