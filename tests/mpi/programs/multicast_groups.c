/* SPDX-License-Identifier: Apache-2.0 */
/* multicast_groups MODE: the life of multicast groups; prints "verified". Only `tags` has several ranks on a node.
 * With ANTIPHON_MULTICAST_KEEPER, the thread of that name is there or not.
 *
 *   tags       all ranks send
 *   numbers    communicators of the same ranks in another order, with room for two groups
 *   late       a communicator is freed while one rank is late for a nonblocking call on it
 *   pending    a communicator is freed while messages are under way on it, which end at other times on each rank
 *   many       more communicators are made and freed than there may be groups, of the same and of other ranks
 *   threads    one thread broadcasts while another one's groups need room
 *   freed      groups of the C API are used and closed after their communicator is freed
 *   unclosed   the same group is closed after MPI_Finalize */
#include <dirent.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "antiphon.h"
#include "open_files.h"
#include "verdict.h"

enum { bytes = 3000, long_bytes = 20 << 20 };

static int rank, size;
static _Atomic long wrong;

static void broadcast(MPI_Comm comm, int root, int number) {
  unsigned char data[bytes];
  int own;
  MPI_Comm_rank(comm, &own);
  for (int i = 0; i < bytes; i++) data[i] = own == root ? (unsigned char)(number * 31 + i) : 0;
  MPI_Bcast(data, bytes, MPI_BYTE, root, comm);
  for (int i = 0; i < bytes; i++) wrong += data[i] != (unsigned char)(number * 31 + i);
}

static MPI_Comm split(int color, int key) {
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, color, key, &comm);
  return comm;
}

static void tags(void) {
  static int own[bytes], all[16 * bytes];
  for (int root = 0; root < size; root++) broadcast(MPI_COMM_WORLD, root, root);
  for (int i = 0; i < bytes; i++) own[i] = rank * 100 + i;
  MPI_Allgather(own, bytes, MPI_INT, all, bytes, MPI_INT, MPI_COMM_WORLD);
  for (int from = 0; from < size; from++)
    for (int i = 0; i < bytes; i++) wrong += all[from * bytes + i] != from * 100 + i;
}

static void numbers(void) {
  const int color = rank < size - 1;
  MPI_Comm backwards = split(color, -rank), forwards = split(color, rank);
  broadcast(MPI_COMM_WORLD, 0, 1);
  broadcast(backwards, 0, 2);
  broadcast(forwards, 0, 3);
  broadcast(MPI_COMM_WORLD, 0, 4);
  MPI_Comm_free(&backwards);
  MPI_Comm_free(&forwards);
}

static void late(void) {
  int one = 1, sum = 0;
  MPI_Comm first = split(0, rank), second = split(0, rank);
  MPI_Request request;
  broadcast(first, 0, 1);
  if (rank == 0) usleep(500000);
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, first, &request);
  MPI_Comm_free(&first);
  if (rank == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
  broadcast(second, 0, 2);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  wrong += sum != size;
  MPI_Comm_free(&second);
}

static void pending(void) {
  static unsigned char data[4 << 20];
  int token = 0;
  MPI_Comm comm = split(0, rank);
  MPI_Request request = MPI_REQUEST_NULL;
  broadcast(comm, 0, 1);
  if (rank == 0) MPI_Isend(data, sizeof data, MPI_BYTE, 1, 0, comm, &request);
  if (rank == 1) MPI_Irecv(data, sizeof data, MPI_BYTE, 0, 0, comm, &request);
  MPI_Comm_free(&comm);
  if (rank == 0) {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

/* Each of the second ones has ranks that are not in the next. */
static void many(void) {
  int before = 0;
  for (int i = 0; i < 100; i++) {
    MPI_Comm comm = split(0, rank);
    broadcast(comm, i % size, i);
    MPI_Comm_free(&comm);
    if (i == 20) before = open_files();
  }
  for (int i = 0; i < 9; i++) {
    MPI_Comm comm = split(rank == i % size, rank);
    for (int turn = 0; turn < 5; turn++) {
      MPI_Barrier(MPI_COMM_WORLD);
      broadcast(comm, 0, i);
    }
    MPI_Comm_free(&comm);
  }
  wrong += open_files() > before + 4;
}

static void* broadcast_long(void* given) {
  MPI_Comm comm = *(MPI_Comm*)given;
  unsigned char* data = malloc(long_bytes);
  for (int turn = 0; turn < 4; turn++) {
    for (int i = 0; i < long_bytes; i++) data[i] = rank == 0 ? (unsigned char)(i * 7 + turn) : 0;
    MPI_Bcast(data, long_bytes, MPI_BYTE, 0, comm);
    for (int i = 0; i < long_bytes; i++) wrong += data[i] != (unsigned char)(i * 7 + turn);
  }
  free(data);
  return NULL;
}

static void threads(void) {
  enum { others = 3, turns = 15 };
  MPI_Comm busy = split(0, rank), other[others];
  pthread_t thread;
  for (int i = 0; i < others; i++) other[i] = split(0, rank);
  pthread_create(&thread, NULL, broadcast_long, &busy);
  for (int i = 0; i < others * turns; i++) broadcast(other[i % others], i % size, i);
  pthread_join(thread, NULL);
  MPI_Comm_free(&busy);
  for (int i = 0; i < others; i++) MPI_Comm_free(&other[i]);
}

static antiphon_group freed(void) {
  unsigned char data[bytes];
  antiphon_group group;
  MPI_Comm comm = split(0, rank);
  wrong += antiphon_bcast_open_group(rank < size - 1, 0, comm, &group) != ANTIPHON_OK;
  wrong += antiphon_group_multicasts(group) != (rank < size - 1);
  MPI_Comm_free(&comm);
  broadcast(MPI_COMM_WORLD, 0, 1); /* what is no longer needed goes */
  wrong += antiphon_group_member(group) != (rank < size - 1);
  for (int i = 0; i < bytes; i++) data[i] = rank == 0 ? (unsigned char)i : 0;
  wrong += antiphon_bcast_data_movement(data, bytes, MPI_BYTE, group) != ANTIPHON_OK;
  for (int i = 0; i < bytes && rank < size - 1; i++) wrong += data[i] != (unsigned char)i;
  return group;
}

/* Returns whether a thread advances multicasts while the program computes. */
static int has_keeper(void) {
  char path[300], name[32] = "";
  int found = 0;
  DIR* const tasks = opendir("/proc/self/task");
  for (const struct dirent* task; (task = readdir(tasks)) != NULL;) {
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
    FILE* const file = fopen(path, "r");
    if (file == NULL) continue;
    found |= fgets(name, sizeof name, file) != NULL && strcmp(name, "antiphon-keep\n") == 0;
    fclose(file);
  }
  closedir(tasks);
  return found;
}

int main(int argc, char** argv) {
  int provided = 0;
  const char* const mode = argc > 1 ? argv[1] : "";
  const char* const keeper = getenv("ANTIPHON_MULTICAST_KEEPER");
  antiphon_group group = NULL;
  MPI_Init_thread(&argc, &argv, strcmp(mode, "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(mode, "tags") == 0) tags();
  else if (strcmp(mode, "numbers") == 0) numbers();
  else if (strcmp(mode, "late") == 0) late();
  else if (strcmp(mode, "pending") == 0) pending();
  else if (strcmp(mode, "many") == 0) many();
  else if (strcmp(mode, "threads") == 0 && provided == MPI_THREAD_MULTIPLE) threads();
  else if (strcmp(mode, "freed") == 0 || strcmp(mode, "unclosed") == 0) group = freed();
  if (strcmp(mode, "freed") == 0) wrong += antiphon_close_group(&group) != ANTIPHON_OK;
  if (keeper != NULL) wrong += has_keeper() != (strcmp(keeper, "0") != 0);
  tell_verdict(wrong);
  MPI_Finalize();
  return antiphon_close_group(&group) != ANTIPHON_OK;
}
