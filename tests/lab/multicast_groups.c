/* SPDX-License-Identifier: Apache-2.0 */
/* Multicast groups of many communicators and of the C API, with a budget of two groups a node
 * (ANTIPHON_MULTICAST_GROUPS=2) on eleven to MOST_RANKS nodes. What goes wrong is counted. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "antiphon.h"

enum { COMMS = 4, ROUNDS = 3, BYTES = 3000, MOST_RANKS = 16 };
static int rank, size, wrong;

#define EXPECT(what)                                                    \
  do {                                                                  \
    if (!(what)) {                                                      \
      ++wrong;                                                          \
      fprintf(stderr, "rank %d: line %d: %s\n", rank, __LINE__, #what); \
    }                                                                   \
  } while (0)

static unsigned char byte_of(int call, int to, int at) { return (unsigned char)(call * 101 + to * 31 + at * 7); }

/* More communicators than groups: each broadcast makes room for its own by leaving the one used longest ago. */
static void broadcasts_in_turn(void) {
  MPI_Comm comms[COMMS];
  unsigned char data[BYTES];
  for (int i = 0; i < COMMS; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int call = 0; call < COMMS * ROUNDS; ++call) {
    const int root = call % size;
    for (int i = 0; i < BYTES; ++i) data[i] = rank == root ? byte_of(call, 0, i) : 0;
    MPI_Bcast(data, BYTES, MPI_BYTE, root, comms[call % COMMS]);
    int bad = 0;
    for (int i = 0; i < BYTES; ++i) bad += data[i] != byte_of(call, 0, i);
    EXPECT(bad == 0);
  }
  for (int i = 0; i < COMMS; ++i) MPI_Comm_free(&comms[i]);
}

/* From rank 0 to ranks 1 and 2, with gaps between the blocks. */
static void scatter_some(antiphon_group group, int call, const int* counts) {
  static unsigned char all[3 * BYTES], mine[BYTES];
  const int displs[MOST_RANKS] = {0, 5, BYTES + 50};
  for (int to = 1; to <= 2; ++to) {
    for (int i = 0; i < counts[to]; ++i) all[displs[to] + i] = byte_of(call, to, i);
  }
  memset(mine, 0, sizeof mine);
  EXPECT(antiphon_scatterv_data_movement(all, counts, displs, MPI_BYTE, mine, counts[rank], MPI_BYTE, group) ==
         ANTIPHON_OK);
  int bad = 0;
  for (int i = 0; i < counts[rank]; ++i) bad += mine[i] != byte_of(call, rank, i);
  EXPECT(bad == 0);
}

/* From the last rank to all, itself too: more than go by messages. Zero bytes to rank 1. */
static void scatter_to_all(void) {
  static unsigned char all[MOST_RANKS * BYTES], mine[BYTES];
  antiphon_group group;
  const int root = size - 1;
  int counts[MOST_RANKS] = {0}, displs[MOST_RANKS] = {0};
  for (int to = 0; to < size; ++to) {
    counts[to] = to == 1 ? 0 : 100 + 17 * to;
    displs[to] = to * BYTES;
  }
  EXPECT(antiphon_scatterv_open_group(counts, MPI_BYTE, root, MPI_COMM_WORLD, &group) == ANTIPHON_OK);
  EXPECT(antiphon_group_multicasts(group) == (rank != 1));
  for (int call = 0; call < ROUNDS; ++call) {
    int bad = 0;
    for (int to = 0; to < size; ++to) {
      for (int i = 0; i < counts[to]; ++i) all[displs[to] + i] = byte_of(call, to, i);
    }
    memset(mine, 0, sizeof mine);
    EXPECT(antiphon_scatterv_data_movement(all, counts, displs, MPI_BYTE, mine, counts[rank], MPI_BYTE, group) ==
           ANTIPHON_OK);
    for (int i = 0; i < counts[rank]; ++i) bad += mine[i] != byte_of(call, rank, i);
    EXPECT(bad == 0);
  }
  EXPECT(antiphon_close_group(&group) == ANTIPHON_OK);
}

/* A root that is one of the few receivers, blocks of a type with gaps, MPI_IN_PLACE, and counts that are not those of
 * the opening. */
static void scatter_to_few(void) {
  int all[3 * 40], mine[40];
  const int counts[MOST_RANKS] = {3, 5, 2}, displs[MOST_RANKS] = {0, 4, 10}, other[MOST_RANKS] = {3, 4, 2};
  MPI_Datatype every_other;
  antiphon_group group;
  MPI_Type_vector(2, 1, 2, MPI_INT, &every_other); /* two of three ints */
  MPI_Type_commit(&every_other);
  EXPECT(antiphon_scatterv_open_group(counts, every_other, 0, MPI_COMM_WORLD, &group) == ANTIPHON_OK);
  for (int in_place = 0; in_place < 2; ++in_place) {
    const int received = rank < 3 ? 2 * counts[rank] : 0;
    for (int i = 0; i < 3 * 40; ++i) all[i] = 1000 * in_place + i;
    memset(mine, 0, sizeof mine);
    EXPECT(antiphon_scatterv_data_movement(all, other, displs, every_other, mine, received + 1, MPI_INT, group) ==
           (rank < 3 ? ANTIPHON_BAD_PATTERN : ANTIPHON_OK));
    EXPECT(antiphon_scatterv_data_movement(all, counts, displs, every_other,
                                           in_place && rank == 0 ? MPI_IN_PLACE : mine, received, MPI_INT,
                                           group) == ANTIPHON_OK);
    for (int i = 0; i < received && !(in_place && rank == 0); ++i)
      EXPECT(mine[i] == 1000 * in_place + 3 * (displs[rank] + i / 2) + 2 * (i % 2));
  }
  EXPECT(antiphon_close_group(&group) == ANTIPHON_OK);
  MPI_Type_free(&every_other);
}

static void broadcast_some(antiphon_group group, int call, int bytes, int root) {
  static unsigned char data[100 * BYTES];
  const int takes_part = antiphon_group_member(group);
  for (int i = 0; i < bytes; ++i) data[i] = rank == root ? byte_of(call, 0, i) : 0;
  EXPECT(antiphon_bcast_data_movement(data, bytes, MPI_BYTE, group) == ANTIPHON_OK);
  int bad = 0;
  for (int i = 0; i < bytes && takes_part; ++i) bad += data[i] != byte_of(call, 0, i);
  EXPECT(bad == 0);
}

/* Two of the same members share a multicast group until both are closed; a third finds no room, and its data go by
 * messages. */
static void groups_by_hand(void) {
  antiphon_group few, first, second, third;
  const int counts[MOST_RANKS] = {0, BYTES, 700};
  EXPECT(antiphon_scatterv_open_group(counts, MPI_BYTE, 0, MPI_COMM_WORLD, &few) == ANTIPHON_OK);
  EXPECT(antiphon_group_member(few) == (rank < 3));
  EXPECT(!antiphon_group_multicasts(few)); /* by messages: takes no room */
  EXPECT(antiphon_bcast_open_group(rank < 3, 1, MPI_COMM_WORLD, &first) == ANTIPHON_OK);
  EXPECT(antiphon_bcast_open_group(rank < 3, 0, MPI_COMM_WORLD, &second) == ANTIPHON_OK);
  EXPECT(antiphon_bcast_open_group(rank < 2, 1, MPI_COMM_WORLD, &third) == ANTIPHON_OK);
  EXPECT(antiphon_group_member(first) == (rank < 3));
  EXPECT(antiphon_group_multicasts(first) == (rank < 3));
  EXPECT(!antiphon_group_multicasts(third));
  for (int call = 0; call < ROUNDS; ++call) {
    scatter_some(few, call, counts);
    broadcast_some(first, call, BYTES, 1);
    broadcast_some(second, call, 100 * BYTES, 0);
    broadcast_some(third, call, BYTES, 1);
  }
  EXPECT(antiphon_close_group(&few) == ANTIPHON_OK);
  EXPECT(antiphon_close_group(&first) == ANTIPHON_OK && first == NULL);
  EXPECT(antiphon_group_multicasts(second) == (rank < 3));
  broadcast_some(second, ROUNDS, BYTES, 0);
  EXPECT(antiphon_close_group(&second) == ANTIPHON_OK);
  EXPECT(antiphon_close_group(&third) == ANTIPHON_OK);
  EXPECT(antiphon_bcast_open_group(rank < 2, 1, MPI_COMM_WORLD, &third) == ANTIPHON_OK);
  EXPECT(antiphon_group_multicasts(third) == (rank < 2));
  broadcast_some(third, ROUNDS + 1, BYTES, 1);
  EXPECT(antiphon_close_group(&third) == ANTIPHON_OK);
}

int main(int argc, char** argv) {
  int all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  broadcasts_in_turn();
  groups_by_hand();
  scatter_to_all();
  scatter_to_few();
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("operations %d wrong %d \n", COMMS * ROUNDS, all);
  MPI_Finalize();
  return all != 0;
}
