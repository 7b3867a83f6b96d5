/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a reduction of many rounds, sleeps without calling MPI, and says whether it has ended then.
 * With "single" as its argument, it does without threads. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { elements = 1 << 18 };

int main(int argc, char** argv) {
  static int sent[elements], got[elements];
  int provided, rank, size, wrong = 0, ended = 0, all_ended = 0;
  const int single = argc > 1 && strcmp(argv[1], "single") == 0;
  MPI_Request request;
  MPI_Init_thread(&argc, &argv, single ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int repetition = 0; repetition < 2; repetition++) { /* the first one makes communicators and connections */
    for (int i = 0; i < elements; i++) sent[i] = rank + i + repetition;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iallreduce(sent, got, elements, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    usleep(single ? 0 : 1500000);
    ended = 0;
    for (int i = 0; i < elements; i++) ended += got[i] == size * (i + repetition) + size * (size - 1) / 2;
    ended = ended == elements;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < elements; i++) wrong += got[i] != size * (i + repetition) + size * (size - 1) / 2;
  }
  MPI_Allreduce(&ended, &all_ended, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0 && all_ended) puts("ended while asleep");
  if (wrong) puts("wrong");
  MPI_Finalize();
  return wrong != 0;
}
