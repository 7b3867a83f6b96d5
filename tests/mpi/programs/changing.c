/* SPDX-License-Identifier: Apache-2.0 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
/* A call for each letter: s, 16 bytes to everybody; l, as many and 300000 to the next rank; u, uneven, and another
 * pattern each time. With a second argument, MPI_Alltoallw does all of them again, on a communicator of its own. */
static int bytes(char kind, int call, int from, int to, int n) {
  if (kind == 'u') return (1 << 20) >> 2 * ((to + 3 * from + call) % 5);
  return kind == 'l' && to == (from + 1) % n ? 300000 : 16;
}
/* Returns how many bytes were wrong. */
static int make_calls(const char* kinds, int with_types, MPI_Comm comm) {
  static unsigned char out[8 << 20], in[8 << 20];
  int rank, n, bad = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &n);
  MPI_Datatype types[64];
  for (int i = 0; i < 64; ++i) types[i] = MPI_BYTE;
  for (int call = 0; call < (int)strlen(kinds); ++call) {
    int sc[64], sd[64], rc[64], rd[64], so = 0, ro = 0;
    for (int i = 0; i < n; ++i) {
      sd[i] = so, so += sc[i] = bytes(kinds[call], call, rank, i, n);
      rd[i] = ro, ro += rc[i] = bytes(kinds[call], call, i, rank, n);
    }
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < sc[i]; ++k) out[sd[i] + k] = (unsigned char)(rank * 7 + i * 31 + k + call);
    memset(in, 0, ro);
    if (with_types) MPI_Alltoallw(out, sc, sd, types, in, rc, rd, types, comm);
    else MPI_Alltoallv(out, sc, sd, MPI_BYTE, in, rc, rd, MPI_BYTE, comm);
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < rc[i]; ++k) bad += in[rd[i] + k] != (unsigned char)(i * 7 + rank * 31 + k + call);
  }
  return bad;
}

int main(int argc, char** argv) {
  int rank;
  MPI_Comm other;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  int bad = make_calls(argv[1], 0, MPI_COMM_WORLD);
  if (argc > 2) bad += make_calls(argv[1], 1, other);
  MPI_Comm_free(&other);
  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%s\n", bad == 0 ? "fine" : "wrong");
  MPI_Finalize();
  return 0;
}
