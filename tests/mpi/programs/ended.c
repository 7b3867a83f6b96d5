/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of sends that the program frees, and of communicators that it frees. Argument 1 says which: "requests",
 * "names", or "buffer". Prints "verified". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { count = 1 << 16, messages = 200, names = 400 };

static long out[count], got[count];
static int rank, size;

/* The upper bits are equal, so that a frame is shorter, but not much. */
static void fill(long* data) {
  for (int i = 0; i < count; i++) data[i] = random();
}

static long resident_bytes(void) {
  long pages = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
  if (file != NULL) fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

/* Rank 0 sends and never completes its sends itself; all else that it does is collective. */
static int free_requests(void) {
  long before = 0;
  MPI_Request request;
  for (int m = 0; m < messages; m++) {
    if (m == messages / 4) before = resident_bytes();
    if (rank == 0) {
      fill(out);
      MPI_Isend(out, count, MPI_LONG, 1, 1, MPI_COMM_WORLD, &request);
      MPI_Request_free(&request);
    } else if (rank == 1) {
      MPI_Recv(got, count, MPI_LONG, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return resident_bytes() - before < messages / 4 * (long)sizeof out / 2;
}

static int free_communicators(void) {
  for (int c = 0; c < names; c++) {
    MPI_Comm comm;
    char name[32];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    snprintf(name, sizeof name, "step %d", c);
    MPI_Comm_set_name(comm, name);
    if (rank == 0) MPI_Send(out, 1000, MPI_LONG, 1, 1, comm);
    else if (rank == 1) MPI_Recv(got, 1000, MPI_LONG, 0, 1, comm, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
  }
  return 1;
}

/* The buffer is never detached, so a library may keep the communicator until its end. */
static int leave_buffer(void) {
  static char buffer[1 << 22];
  MPI_Comm comm;
  MPI_Buffer_attach(buffer, sizeof buffer);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Bsend(out, count, MPI_LONG, (rank + 1) % size, 1, comm);
  MPI_Recv(got, count, MPI_LONG, (rank + size - 1) % size, 1, comm, MPI_STATUS_IGNORE);
  MPI_Comm_free(&comm);
  return memcmp(out, got, sizeof out) == 0;
}

int main(int argc, char** argv) {
  int right, all;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  fill(out);
  right = strcmp(argv[1], "requests") == 0 ? free_requests()
          : strcmp(argv[1], "names") == 0  ? free_communicators()
                                           : leave_buffer();
  MPI_Reduce(&right, &all, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
  if (rank == 0) puts(all ? "verified" : "wrong");
  MPI_Finalize();
  return 0;
}
