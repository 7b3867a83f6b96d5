/* SPDX-License-Identifier: Apache-2.0 */
/* long_elements [data]: one rank's elements, which have gaps, are longer than an int counts. It has none of them to
 * send or to receive or, with an argument, rank 1 sends one and rank 2 receives it: that takes 10 GB of memory.
 * Prints "verified" if all that arrives is right. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verdict.h"

enum { ranks = 3, block = 5000, gap = 64 };

static const size_t parts[3] = {(size_t)1 << 30, ((size_t)1 << 30) + 8, (size_t)200 << 20};
static int rank;
static long wrong;

/* Makes a type of three blocks of bytes, which no rule describes. */
static MPI_Datatype long_type(size_t* size, size_t* extent) {
  int lengths[3];
  MPI_Aint places[3];
  MPI_Datatype type;
  *size = *extent = 0;
  for (int i = 0; i < 3; i++) {
    lengths[i] = (int)parts[i];
    places[i] = (MPI_Aint)*extent;
    *size += parts[i];
    *extent += parts[i] + gap * (size_t)(i + 1);
  }
  MPI_Type_create_hindexed(3, lengths, places, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  return type;
}

/* Ranks but the one with long elements exchange blocks. */
static void exchange(MPI_Datatype type, int sends, int nonblocking) {
  static int sent[ranks * block], got[ranks * block];
  const int places[ranks] = {0, block, 2 * block};
  int to[ranks], from[ranks];
  MPI_Request request;
  for (int r = 0; r < ranks; r++) {
    to[r] = rank == 0 && sends ? 0 : r == 0 && !sends ? 0 : block;
    from[r] = rank == 0 && !sends ? 0 : r == 0 && sends ? 0 : block;
    for (int i = 0; i < block; i++) sent[places[r] + i] = 1000 * rank + 100 * r + i % 97;
  }
  MPI_Datatype sendtype = rank == 0 && sends ? type : MPI_INT, recvtype = rank == 0 && !sends ? type : MPI_INT;
  memset(got, 0, sizeof got);
  if (nonblocking) {
    MPI_Ialltoallv(sent, to, places, sendtype, got, from, places, recvtype, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Alltoallv(sent, to, places, sendtype, got, from, places, recvtype, MPI_COMM_WORLD);
  }
  for (int r = 0; r < ranks; r++)
    for (int i = 0; i < from[r]; i++) wrong += got[places[r] + i] != 1000 * r + 100 * rank + i % 97;
}

/* Rank 0 sends nothing of the type to the ranks before and behind it. */
static void exchange_with_neighbours(MPI_Datatype type) {
  static int sent[2 * block], got[2 * block];
  const int size = ranks, periodic = 1, places[2] = {0, block};
  int to[2], from[2];
  MPI_Comm ring;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
  for (int side = 0; side < 2; side++) {
    const int peer = (rank + (side ? 1 : ranks - 1)) % ranks;
    to[side] = rank == 0 ? 0 : block;
    from[side] = peer == 0 ? 0 : block;
    for (int i = 0; i < block; i++) sent[places[side] + i] = 1000 * rank + 100 * side + i % 97;
  }
  MPI_Neighbor_alltoallv(sent, to, places, rank == 0 ? type : MPI_INT, got, from, places, MPI_INT, ring);
  for (int side = 0; side < 2; side++) {
    const int peer = (rank + (side ? 1 : ranks - 1)) % ranks;
    for (int i = 0; i < from[side]; i++) wrong += got[places[side] + i] != 1000 * peer + 100 * (1 - side) + i % 97;
  }
  MPI_Comm_free(&ring);
}

static unsigned char byte_at(size_t i) { return (unsigned char)(i * 31 + i / 4096 * 7 + 1); }

/* Rank 1 sends an element, packed by itself or with gaps, and rank 2 receives it in the other form. */
static void send_one(MPI_Datatype type, size_t size, size_t extent, int with_gaps) {
  int to[ranks] = {0}, from[ranks] = {0};
  const int places[ranks] = {0};
  const int gapped = rank == 1 ? with_gaps : !with_gaps;
  const size_t bytes = gapped ? extent : size;
  MPI_Datatype packed;
  MPI_Type_contiguous((int)(size / 8), MPI_INT64_T, &packed);
  MPI_Type_commit(&packed);
  unsigned char* memory = rank == 0 ? NULL : calloc(bytes, 1);
  size_t at = 0, i = 0;
  for (int part = 0; part < 3 && rank != 0; at += gapped ? gap * (size_t)(part + 1) : 0, part++)
    for (const size_t stop = i + parts[part]; i < stop; i++, at++)
      if (rank == 1) memory[at] = byte_at(i);
  if (rank == 1) to[2] = 1;
  if (rank == 2) from[1] = 1;
  MPI_Datatype used = gapped ? type : packed;
  MPI_Alltoallv(memory, to, places, used, memory, from, places, used, MPI_COMM_WORLD);
  at = i = 0;
  for (int part = 0; part < 3 && rank == 2; part++) {
    for (const size_t stop = i + parts[part]; i < stop; i++, at++) wrong += memory[at] != byte_at(i);
    for (int g = 0; gapped && g < gap * (part + 1) && at < bytes; g++) wrong += memory[at++] != 0;
  }
  free(memory);
  MPI_Type_free(&packed);
}

int main(int argc, char** argv) {
  size_t size, extent;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Datatype type = long_type(&size, &extent);
  for (int way = 0; way < 4; way++) exchange(type, way % 2, way / 2);
  exchange_with_neighbours(type);
  for (int way = 0; way < 2 && argc > 1; way++) send_one(type, size, extent, way);
  MPI_Type_free(&type);
  tell_verdict(wrong);
  MPI_Finalize();
  return 0;
}
