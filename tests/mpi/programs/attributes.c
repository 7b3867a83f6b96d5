/* SPDX-License-Identifier: Apache-2.0 */
/* Starts nonblocking collectives on communicators whose attributes have copy functions, and duplicates them itself: the
   functions run for its own duplicates alone, also of the predefined communicators. Prints "verified". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verdict.h"

enum { bytes = 65536 };
static int copied, removed, refused, duplicates_end, predefined_copied;

static int copy_counting(MPI_Comm comm, int keyval, void* extra, void* value, void* copy, int* flag) {
  (void)keyval;
  copied += extra == &copied;
  MPI_Barrier(comm);
  *(void**)copy = strdup(value);
  *flag = 1;
  return MPI_SUCCESS;
}

static int remove_counting(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)extra;
  removed++;
  free(value);
  return MPI_SUCCESS;
}

static int copy_predefined(MPI_Comm comm, int keyval, void* extra, void* value, void* copy, int* flag) {
  (void)comm, (void)keyval, (void)extra, (void)value, (void)copy;
  *flag = 0;
  predefined_copied++;
  return MPI_SUCCESS;
}

static void watch_predefined(void) {
  int keyval;
  MPI_Comm_create_keyval(copy_predefined, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
  MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, NULL);
}

static int refuse(MPI_Comm comm, int keyval, void* extra, void* value, void* copy, int* flag) {
  (void)comm, (void)keyval, (void)extra, (void)value, (void)copy;
  *flag = 0;
  refused++;
  return MPI_ERR_OTHER;
}

static int remove_shared(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)extra;
  (*(int*)value)++;
  return MPI_SUCCESS;
}

static int broadcast(MPI_Comm comm) {
  static char data[bytes];
  int rank, wrong = 0;
  MPI_Request request;
  MPI_Comm_rank(comm, &rank);
  memset(data, rank == 0 ? 'x' : 0, bytes);
  MPI_Ibcast(data, bytes, MPI_CHAR, 0, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < bytes; i++) wrong += data[i] != 'x';
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, wrong = 0, found = 0, counting, shared, refusing;
  char* value = NULL;
  MPI_Comm comm, duplicate;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
  MPI_Comm_create_keyval(copy_counting, remove_counting, &counting, &copied);
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, remove_shared, &shared, NULL);
  MPI_Comm_create_keyval(refuse, MPI_COMM_NULL_DELETE_FN, &refusing, NULL);
  watch_predefined();
  MPI_Comm_set_attr(comm, counting, strdup("text"));
  MPI_Comm_set_attr(comm, shared, &duplicates_end);
  MPI_Comm_set_attr(comm, refusing, NULL);
  wrong += broadcast(comm);
  wrong += copied != 0 || removed != 0 || refused != 0 || duplicates_end != 0;

  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  wrong += MPI_Comm_dup(comm, &duplicate) == MPI_SUCCESS;
  wrong += refused != 1;
  MPI_Comm_delete_attr(comm, refusing);
  copied = removed = duplicates_end = 0;
  MPI_Comm_dup(comm, &duplicate);
  wrong += copied != 1;
  MPI_Comm_get_attr(duplicate, counting, &value, &found);
  wrong += !found || strcmp(value, "text") != 0;
  wrong += broadcast(duplicate);
  MPI_Comm_free(&duplicate);
  wrong += removed != 1 || duplicates_end != 1;
  MPI_Comm_free(&comm);
  wrong += copied != 1 || removed != 2 || duplicates_end != 2;
  MPI_Comm_free_keyval(&counting);
  MPI_Comm_free_keyval(&shared);
  MPI_Comm_free_keyval(&refusing);
  tell_verdict(wrong);
  MPI_Finalize();
  return predefined_copied;
}
