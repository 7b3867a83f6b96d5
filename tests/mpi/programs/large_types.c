// SPDX-License-Identifier: Apache-2.0
// Uses a datatype made with a large count in messages and a broadcast, on 2 ranks. Prints "verified" or what is wrong.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { bytes = 4096 };

int main(int argc, char** argv) {
  char from[bytes], to[bytes], want[bytes];
  int rank, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  memset(from, rank, bytes);
  memset(want, 1 - rank, bytes);
  MPI_Datatype type;
  MPI_Type_contiguous_c(bytes, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  for (int way = 0; way < 4; ++way) {
    MPI_Request send, receive;
    MPI_Message message;
    memset(to, 7, bytes);
    if (way % 2) MPI_Isend(from, bytes, MPI_BYTE, 1 - rank, way, MPI_COMM_WORLD, &send);
    else MPI_Isend(from, 1, type, 1 - rank, way, MPI_COMM_WORLD, &send);
    if (way < 2) {
      MPI_Recv(to, 1, type, 1 - rank, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Mprobe(1 - rank, way, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
      MPI_Imrecv(to, 1, type, &message, &receive);
      MPI_Wait(&receive, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    if (memcmp(to, want, bytes)) wrong |= 1 << way;
  }
  memset(to, rank, bytes);
  MPI_Bcast(to, 1, type, 1, MPI_COMM_WORLD);
  if (to[0] != 1 || to[bytes - 1] != 1) wrong |= 16;
  MPI_Type_free(&type);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_BOR, MPI_COMM_WORLD);
  if (rank == 0) printf(wrong ? "wrong %d\n" : "verified\n", wrong);
  MPI_Finalize();
  return 0;
}
