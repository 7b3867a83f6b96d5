/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers between two groups of ranks, without waiting. */
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, size;
  MPI_Comm half, between;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int second = 2 * rank >= size;
  MPI_Comm_split(MPI_COMM_WORLD, second, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, second ? 0 : size / 2, 0, &between);
  for (int i = 0; i < 3; ++i) {
    MPI_Request request;
    MPI_Ibarrier(between, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
  MPI_Finalize();
  return 0;
}
