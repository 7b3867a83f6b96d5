/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions by an operation of the program over a type without gaps whose data lie behind its address, and over one
 * that has absolute addresses. Prints "verified". */
#include <mpi.h>
#include <stdio.h>

#include "verdict.h"

enum { shift = 2, most = 5000 };

static void add_shifted(void* in, void* inout, int* n, MPI_Datatype* type) {
  for (int i = shift; i < *n + shift; i++) ((double*)inout)[i] += ((double*)in)[i];
}

static void add_absolute(void* in, void* inout, int* n, MPI_Datatype* type) {
  MPI_Aint lb, extent;
  MPI_Type_get_true_extent(*type, &lb, &extent);
  double* const to = (double*)((char*)inout + lb);
  const double* const from = (const double*)((char*)in + lb);
  for (long i = 0; i < *n * extent / (MPI_Aint)sizeof(double); i++) to[i] += from[i];
}

int main(int argc, char** argv) {
  static double in[most + shift], out[most + shift];
  const int sizes[] = {1, 100, most}, one = 1, displacement = shift, all = most;
  int rank, size;
  long wrong = 0;
  MPI_Aint place;
  MPI_Datatype shifted, absolute, element = MPI_DOUBLE;
  MPI_Op add, add_there;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Op_create(add_shifted, 1, &add);
  MPI_Op_create(add_absolute, 1, &add_there);
  MPI_Type_indexed(1, &one, &displacement, MPI_DOUBLE, &shifted);
  MPI_Get_address(out, &place);
  MPI_Type_create_struct(1, &all, &place, &element, &absolute);
  MPI_Type_commit(&shifted);
  MPI_Type_commit(&absolute);
  for (int s = 0; s < 3; s++) {
    const int n = sizes[s];
    for (int i = 0; i < most + shift; i++) in[i] = rank + i, out[i] = -1;
    MPI_Allreduce(in, out, n, shifted, add, MPI_COMM_WORLD);
    for (int i = 0; i < most + shift; i++)
      wrong += out[i] != (i < shift || i >= n + shift ? -1 : size * i + size * (size - 1) / 2);
    for (int i = 0; i < most; i++) out[i] = rank + i;
    MPI_Allreduce(MPI_IN_PLACE, MPI_BOTTOM, 1, absolute, add_there, MPI_COMM_WORLD);
    for (int i = 0; i < most; i++) wrong += out[i] != size * i + size * (size - 1) / 2;
  }
  tell_verdict(wrong);
  MPI_Type_free(&shifted);
  MPI_Type_free(&absolute);
  MPI_Op_free(&add);
  MPI_Op_free(&add_there);
  MPI_Finalize();
  return 0;
}
