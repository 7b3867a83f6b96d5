/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed messages while no buffer can be had: a message is sent as it is, or its receive fails with
 * MPI_ERR_NO_MEM, and later ones arrive. Link it with -rdynamic. Prints "verified". */
#include <mpi.h>
#include <stdlib.h>

#include "smooth.h"
#include "verdict.h"

enum { n = 100000, tag = 4, answer = 5 };

/* From this size on, there is no memory. */
static volatile size_t limit = (size_t)-1;

/* Replaces the C library's for all objects. */
void* aligned_alloc(size_t alignment, size_t bytes) {
  void* memory = NULL;
  return bytes < limit && posix_memalign(&memory, alignment, bytes) == 0 ? memory : NULL;
}

static double v[n];

static int class_of(int code) {
  int class = 0;
  MPI_Error_class(code, &class);
  return class;
}

static MPI_Comm fresh_comm(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return comm;
}

static void sender_lacks_memory(void) {
  MPI_Comm comm = fresh_comm();
  for (int round = 0; round < 3; ++round) {
    make(v, n, round, 0);
    if (rank == 0) {
      limit = round == 1 ? 1024 : (size_t)-1;
      expect(MPI_Send(v, n, MPI_DOUBLE, 1, tag, comm) == MPI_SUCCESS, "a send without memory", round);
      limit = (size_t)-1;
    } else {
      const int code = MPI_Recv(v, n, MPI_DOUBLE, 0, tag, comm, MPI_STATUS_IGNORE);
      expect(code == MPI_SUCCESS && same(v, n, round, 0), "what was sent without memory", round);
    }
  }
  MPI_Comm_free(&comm);
}

/* The receive fails when it is to be decoded. */
static void receiver_lacks_memory(void) {
  MPI_Comm comm = fresh_comm();
  for (int round = 0; round < 3; ++round) {
    make(v, n, round, 1);
    if (rank == 0) {
      MPI_Send(v, n, MPI_DOUBLE, 1, tag, comm);
      MPI_Recv(NULL, 0, MPI_INT, 1, answer, comm, MPI_STATUS_IGNORE);
    } else {
      MPI_Request request;
      MPI_Irecv(v, n, MPI_DOUBLE, 0, tag, comm, &request);
      limit = round == 0 ? 1024 : (size_t)-1;
      const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
      limit = (size_t)-1;
      if (round == 0) expect(class_of(code) == MPI_ERR_NO_MEM, "a receive without memory", class_of(code));
      else expect(code == MPI_SUCCESS && same(v, n, round, 1), "a receive after that", round);
      MPI_Send(NULL, 0, MPI_INT, 0, answer, comm);
    }
  }
  MPI_Comm_free(&comm);
}

/* The receive needs other memory, and there is none when it is posted. The message stays where it is. */
static void post_lacks_memory(void) {
  const int lengths[] = {n / 4, n / 2}, places[] = {0, n / 4 + 8};
  MPI_Comm comm = fresh_comm();
  MPI_Datatype type;
  MPI_Type_indexed(2, lengths, places, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  make(v, n, 0, 2);
  if (rank == 0) {
    MPI_Send(v, 1, type, 1, tag, comm);
  } else {
    double* const w = calloc(n, sizeof *w);
    limit = 1024;
    const int code = MPI_Recv(w, 1, type, 0, tag, comm, MPI_STATUS_IGNORE);
    limit = (size_t)-1;
    expect(class_of(code) == MPI_ERR_NO_MEM, "a receive that cannot be posted", class_of(code));
    expect(MPI_Recv(w, 1, type, 0, tag, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS, "the receive after that", 0);
    for (int part = 0; part < 2; ++part) {
      for (int i = places[part]; i < places[part] + lengths[part]; ++i) expect(w[i] == v[i], "its data", i);
    }
    free(w);
  }
  MPI_Type_free(&type);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  receiver_lacks_memory();
  sender_lacks_memory();
  post_lacks_memory();
  tell_verdict(failed);
  MPI_Finalize();
  return 0;
}
