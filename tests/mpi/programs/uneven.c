/* SPDX-License-Identifier: Apache-2.0 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
/* Rank r sends 2^20 >> ((to + 3 r) % 5) bytes: what goes and what comes in a phase differ much. */
static int bytes(int from, int to) { return from == to ? 8 : (1 << 20) >> 2 * ((to + 3 * from) % 5); }
int main(int argc, char** argv) {
  int rank, n, bad = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  int sc[64], sd[64], rc[64], rd[64], so = 0, ro = 0;
  for (int i = 0; i < n; ++i) {
    sd[i] = so, so += sc[i] = bytes(rank, i);
    rd[i] = ro, ro += rc[i] = bytes(i, rank);
  }
  unsigned char *out = malloc(so), *in = malloc(ro);
  for (int call = 0; call < 6; ++call) {
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < sc[i]; ++k) out[sd[i] + k] = (unsigned char)(rank * 7 + i * 31 + k + call);
    for (int k = 0; k < ro; ++k) in[k] = 0;
    MPI_Alltoallv(out, sc, sd, MPI_BYTE, in, rc, rd, MPI_BYTE, MPI_COMM_WORLD);
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < rc[i]; ++k) bad += in[rd[i] + k] != (unsigned char)(i * 7 + rank * 31 + k + call);
  }
  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%s\n", bad == 0 ? "fine" : "wrong");
  MPI_Finalize();
  return 0;
}
