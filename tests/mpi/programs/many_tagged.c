/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that look like frames, of which the first is received last, after more others than side messages have tags.
 * Prints "verified". */
#include <mpi.h>
#include <string.h>

#include "verdict.h"

enum { bytes = 1024, others = 32767, late = 1, in_time = 2 };

static const unsigned char mark[] = {0xf7, 0x41, 0x6e, 0x46};

/* All that two messages differ in are the bytes behind the mark. */
static void make(unsigned char* message, int number) {
  memset(message, 7, bytes);
  memcpy(message, mark, sizeof mark);
  memcpy(message + sizeof mark, &number, sizeof number);
}

int main(int argc, char** argv) {
  static unsigned char first[bytes], message[bytes], wanted[bytes];
  int rank;
  long wrong = 0;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  make(first, -1);
  if (rank == 0) MPI_Issend(first, bytes, MPI_BYTE, 1, late, MPI_COMM_WORLD, &request);
  for (int i = 0; i < others && rank < 2; ++i) {
    make(wanted, i);
    if (rank == 0) MPI_Ssend(wanted, bytes, MPI_BYTE, 1, in_time, MPI_COMM_WORLD);
    else MPI_Recv(message, bytes, MPI_BYTE, 0, in_time, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    wrong += rank == 1 && memcmp(message, wanted, bytes) != 0;
  }
  if (rank == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 1) {
    MPI_Recv(message, bytes, MPI_BYTE, 0, late, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    wrong += memcmp(message, first, bytes) != 0;
  }
  tell_verdict(wrong);
  MPI_Finalize();
  return 0;
}
