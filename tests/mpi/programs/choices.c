/* SPDX-License-Identifier: Apache-2.0 */
/* choices MODE, on 3 ranks: the choice for exchanges changes while some are under way, which end in another order on
 * each rank; prints "verified" if all that follows is right.
 *
 *   limits   two calls of the credit protocol with other pieces: rank 0 ends the second first, rank 1 the first
 *   ways     rotated phases as the automatic choice, which the credit protocol does, and then by name, as a schedule;
 *            rank 1 still does a call of the first kind when it starts one of the second */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "antiphon.h"
#include "verdict.h"

enum { ranks = 3, block = 100000, token = 7 };

static int rank;
static long wrong;

typedef struct {
  int sent[ranks * block], got[ranks * block], counts[ranks];
  int number;
  MPI_Request request;
} Exchange;

static int value(int from, int to, int number, int i) { return ((from * ranks + to) * 100 + number) * 1000 + i % 997; }

/* All ranks exchange blocks, or only those two. */
static void start(Exchange* e, int number, int one, int other) {
  const int places[ranks] = {0, block, 2 * block};
  const int takes_part = one == other || rank == one || rank == other;
  e->number = number;
  for (int r = 0; r < ranks; r++) {
    e->counts[r] = takes_part && r != rank && (one == other || r == one || r == other) ? block : 0;
    for (int i = 0; i < block; i++) e->sent[places[r] + i] = value(rank, r, number, i);
  }
  memset(e->got, 0, sizeof e->got);
  MPI_Ialltoallv(e->sent, e->counts, places, MPI_INT, e->got, e->counts, places, MPI_INT, MPI_COMM_WORLD, &e->request);
}

static void end(Exchange* e) {
  MPI_Wait(&e->request, MPI_STATUS_IGNORE);
  for (int r = 0; r < ranks; r++)
    for (int i = 0; i < e->counts[r]; i++) wrong += e->got[r * block + i] != value(r, rank, e->number, i);
}

static void use(const char* choice) { wrong += antiphon_force(MPI_COMM_WORLD, "alltoallv", choice) != ANTIPHON_OK; }

/* Rank 2 begins late, so that what other ranks start with it is under way until they let it begin. */
static void wait_for(int other) {
  if (rank == 2) MPI_Recv(NULL, 0, MPI_INT, other, token, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void let_begin(int by) {
  if (rank == by) MPI_Send(NULL, 0, MPI_INT, 2, token, MPI_COMM_WORLD);
}

static void limits(void) {
  static Exchange first, second, third;
  use("credit:piece_bytes=4096");
  wait_for(0);
  start(&first, 1, 0, 2);
  if (rank == 1) end(&first);
  use("credit:piece_bytes=16384");
  start(&second, 2, 1, 2);
  if (rank == 0) end(&second);
  let_begin(0);
  end(rank == 1 ? &second : &first);
  if (rank == 2) end(&second);
  start(&third, 3, 0, 0);
  end(&third);
}

static void ways(void) {
  static Exchange first, second;
  char chosen[200];
  start(&first, 1, 0, 0);
  end(&first);
  antiphon_chosen(MPI_COMM_WORLD, "alltoallv", chosen, sizeof chosen);
  wait_for(1);
  start(&first, 2, 1, 2);
  if (rank == 0) end(&first);
  use(chosen);
  start(&second, 3, 0, 0);
  let_begin(1);
  if (rank != 0) end(&first);
  end(&second);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(argv[1], "limits") == 0) limits();
  else ways();
  tell_verdict(wrong);
  MPI_Finalize();
  return 0;
}
