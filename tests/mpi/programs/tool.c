/* SPDX-License-Identifier: Apache-2.0 */
/* A tool as Darshan, mpiP and Score-P are: it takes some calls over, counts them, and goes on to the library. With
   BY_NAME it looks for the library behind itself, as Darshan does; otherwise the linker binds PMPI_X. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

#ifdef BY_NAME
#define NEXT(name) ((__typeof__(&P##name))dlsym(RTLD_NEXT, "P" #name))
#else
#define NEXT(name) P##name
#endif

static int calls;

int MPI_Init(int* argc, char*** argv) { return NEXT(MPI_Init)(argc, argv); }
int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  ++calls;
  return NEXT(MPI_Allreduce)(in, out, count, type, op, comm);
}
int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  ++calls;
  return NEXT(MPI_Isend)(data, count, type, to, tag, comm, request);
}
int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  ++calls;
  return NEXT(MPI_Recv)(data, count, type, from, tag, comm, status);
}
#ifdef FORTRAN
void pmpi_bcast_(void* data, MPI_Fint* count, MPI_Fint* type, MPI_Fint* root, MPI_Fint* comm, MPI_Fint* error);
void mpi_bcast_(void* data, MPI_Fint* count, MPI_Fint* type, MPI_Fint* root, MPI_Fint* comm, MPI_Fint* error) {
  ++calls;
  pmpi_bcast_(data, count, type, root, comm, error);
}
#endif
int MPI_Finalize(void) {
  int rank, all = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
#ifndef ALONE
  PMPI_Reduce(&calls, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); /* Tools collect their data so. */
#endif
  if (rank == 0) printf("the tool saw %d calls\n", all);
  fflush(stdout);
  return NEXT(MPI_Finalize)();
}
#ifdef FORTRAN /* Open MPI's bindings call PMPI_X, so a tool for Fortran has wrappers of its own. */
void mpi_finalize_(MPI_Fint* error) { *error = MPI_Finalize(); }
#endif
