/* SPDX-License-Identifier: Apache-2.0 */
/* Calls MPI with buffers in the memory of a stand-in GPU (driver.c): devices LIBRARY early|late. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { length = 1000 };
static int rank, ranks;
static void* (*closed)(size_t), *(*open_memory)(size_t), *(*managed)(size_t);
static void (*put)(void*, const void*, size_t), (*get)(void*, const void*, size_t);
static int (*copies)(void), (*is_left)(void);

static void load(const char* file) {
  void* driver = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (driver == NULL) exit(2);
  *(void**)&closed = dlsym(driver, "driver_closed");
  *(void**)&open_memory = dlsym(driver, "driver_open");
  *(void**)&managed = dlsym(driver, "driver_managed");
  *(void**)&put = dlsym(driver, "driver_write");
  *(void**)&get = dlsym(driver, "driver_read");
  *(void**)&copies = dlsym(driver, "driver_copies");
  *(void**)&is_left = dlsym(driver, "driver_is_left");
}

static void expect(int right, const char* what) {
  if (right) return;
  fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void fill(double* memory, double value) {
  double data[length];
  for (int i = 0; i < length; ++i) data[i] = value + i;
  put(memory, data, sizeof data);
}
static void check(const double* memory, double value, double step, const char* what) {
  double data[length];
  get(data, memory, sizeof data);
  for (int i = 0; i < length; ++i) expect(data[i] == value + step * i, what);
}

static void sum(double* in, double* out, const char* what) {
  fill(in, rank);
  MPI_Allreduce(in, out, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  check(out, ranks * (ranks - 1) / 2.0, ranks, what);
  fill(out, rank);
  MPI_Allreduce(MPI_IN_PLACE, out, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  check(out, ranks * (ranks - 1) / 2.0, ranks, what);
}

/* Calls 1 and 2 have plain buffers, and the ranks agree on that. Call 3 has a GPU's on one rank, the six after it on
   all, and these the library may see. */
static void reductions(double* in, double* out) {
  double *first = closed(sizeof(double[length])), *second = closed(sizeof(double[length]));
  sum(in, out, "plain");
  double* const receiving = rank == 1 ? second : out;
  fill(rank == 1 ? first : in, rank);
  MPI_Allreduce(rank == 1 ? first : in, receiving, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  check(receiving, ranks * (ranks - 1) / 2.0, ranks, "one rank");
  double *near = open_memory(sizeof(double[length])), *far = open_memory(sizeof(double[length]));
  for (int i = 0; i < 3; ++i) sum(near, far, "all ranks");
}

/* Gathers every second element of each rank into the root's device memory, as the third call. */
static void gathers(void) {
  static double mine[length], all[8 * length];
  double* target = rank == 0 ? closed(sizeof all) : NULL;
  MPI_Datatype gaps;
  MPI_Type_vector(length / 2, 1, 2, MPI_DOUBLE, &gaps);
  MPI_Type_commit(&gaps);
  for (int i = 0; i < length; ++i) mine[i] = rank + i;
  for (int call = 0; call < 3; ++call) {
    void* to = call == 2 ? (void*)target : all;
    if (rank == 0) memset(all, 0, sizeof all), put(to, all, sizeof all);
    MPI_Gather(mine, 1, gaps, to, length / 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank == 0) get(all, to, sizeof all);
    for (int i = 0; rank == 0 && i < ranks * length / 2; ++i)
      expect(all[i] == i / (length / 2) + i % (length / 2) * 2, "gather");
  }
  MPI_Type_free(&gaps);
}

/* Frames go to and come from device memory; here the library itself may not see closed memory, so a frame must arrive
   elsewhere first. */
static void messages(void) {
  double *target = closed(sizeof(double[length])), *source = open_memory(sizeof(double[length]));
  static double plain[length];
  MPI_Request request;
  for (int i = 0; i < 2 && ranks > 1; ++i) {
    if (rank == 0) {
      fill(plain, 7);
      MPI_Send(plain, length, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
      MPI_Recv(plain, length, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      check(plain, 9, 1, "message from a device");
    } else if (rank == 1) {
      MPI_Irecv(target, length, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      check(target, 7, 1, "message to a device");
      fill(source, 9);
      MPI_Send(source, length, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
    }
  }
}

int main(int argc, char** argv) {
  static double in[length], out[length];
  const int early = argc > 2 && strcmp(argv[2], "early") == 0;
  if (early) load(argv[1]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  if (!early) load(argv[1]);
  reductions(in, out);
  gathers();
  messages();
  const int before = copies();
  double* shared = managed(sizeof(double[length]));
  for (int i = 0; i < 3; ++i) {
    fill(shared, 3);
    MPI_Bcast(shared, length, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    check(shared, 3, 1, "managed memory");
  }
  expect(copies() == before, "managed memory needs no copies");
  expect(is_left == NULL || is_left(), "this thread has no context, as before");
  MPI_Finalize();
  if (rank == 0) puts("all is right");
  return 0;
}
