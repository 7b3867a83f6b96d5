// SPDX-License-Identifier: Apache-2.0
// Persistent messages of one tag, long, short, and to MPI_PROC_NULL, all started by one call. They must match in the
// order of the requests, in which the library starts them. Prints "verified" if they do.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { longest = 6000, rounds = 20, kinds = 4 };
static const int counts[kinds] = {longest, 0, 3, longest - 1};  // 0: to MPI_PROC_NULL
static double out[kinds][longest], in[kinds][longest];

int main(int argc, char** argv) {
  int rank = 0, wrong = 0, all = 0;
  MPI_Request requests[2 * kinds];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int k = 0; k < kinds; ++k) {
    const int peer = counts[k] > 0 ? 1 - rank : MPI_PROC_NULL;
    MPI_Recv_init(in[k], counts[k], MPI_DOUBLE, peer, 3, MPI_COMM_WORLD, &requests[k]);
    MPI_Send_init(out[k], counts[k], MPI_DOUBLE, peer, 3, MPI_COMM_WORLD, &requests[kinds + k]);
  }
  for (int round = 0; round < rounds; ++round) {
    for (int k = 0; k < kinds; ++k) {
      for (int i = 0; i < counts[k]; ++i) out[k][i] = 1 + k + 1e-3 * round + 1e-4 * i;
    }
    memset(in, 0, sizeof in);
    MPI_Startall(2 * kinds, requests);
    MPI_Waitall(2 * kinds, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < kinds; ++k) wrong += memcmp(in[k], out[k], sizeof(double) * (size_t)counts[k]) != 0;
  }
  for (int i = 0; i < 2 * kinds; ++i) MPI_Request_free(&requests[i]);
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf(all == 0 ? "verified\n" : "%d wrong\n", all);
  MPI_Finalize();
  return 0;
}
