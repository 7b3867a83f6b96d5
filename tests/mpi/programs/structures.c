/* SPDX-License-Identifier: Apache-2.0 */
/* Structures whose blocks adjoin, have padding, or are not in the order of their addresses, and vectors without gaps:
   collectives bring what MPI_Pack reads. Prints "verified". */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "verdict.h"

enum { kinds = 6, elements = 300, most_bytes = elements * 64, most_ranks = 8 };

static MPI_Datatype structure(int n, const int* lengths, const MPI_Aint* places, const MPI_Datatype* types) {
  MPI_Datatype type;
  MPI_Type_create_struct(n, lengths, places, types, &type);
  MPI_Type_commit(&type);
  return type;
}

static MPI_Datatype kind(int number) {
  const int lengths[] = {2, 4, 0, 1}, two[] = {1, 1};
  const MPI_Aint adjoining[] = {0, 16, 3, 32}, permuted[] = {16, 0, 3, 32}, padded[] = {0, 8}, nested[] = {0, 40};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT, MPI_CHAR, MPI_DOUBLE}, mixed[] = {MPI_DOUBLE, MPI_INT};
  MPI_Datatype type, parts[2];
  switch (number) {
    case 0: return structure(4, lengths, adjoining, types);
    case 1: return structure(4, lengths, permuted, types);
    case 2: return structure(2, two, padded, mixed);
    case 3:
      MPI_Type_vector(3, 2, 2, MPI_INT, &type);
      MPI_Type_commit(&type);
      return type;
    case 4:
      MPI_Type_vector(3, 2, 3, MPI_INT, &type);
      MPI_Type_commit(&type);
      return type;
    default:
      parts[0] = structure(4, lengths, adjoining, types);
      MPI_Type_vector(3, 2, 2, MPI_INT, &parts[1]);
      type = structure(2, two, nested, parts);
      MPI_Type_free(&parts[0]);
      MPI_Type_free(&parts[1]);
      return type;
  }
}

static char mine[most_ranks * most_bytes], theirs[most_ranks * most_bytes], packed[most_bytes], wanted[most_bytes];

/* Data of a rank for another one. */
static void fill(char* at, int from, int to) {
  for (int i = 0; i < most_bytes; i++) at[i] = (char)(i * 7 + from * 13 + to * 29);
}

static int differs(const char* got, const char* sent, MPI_Datatype type) {
  int have = 0, want = 0;
  MPI_Pack(got, elements, type, packed, most_bytes, &have, MPI_COMM_SELF);
  MPI_Pack(sent, elements, type, wanted, most_bytes, &want, MPI_COMM_SELF);
  return have != want || memcmp(packed, wanted, (size_t)have) != 0;
}

int main(int argc, char** argv) {
  static char original[most_bytes];
  int rank, size, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int k = 0; k < kinds; k++) {
    MPI_Aint lb, extent;
    MPI_Datatype type = kind(k);
    MPI_Type_get_extent(type, &lb, &extent);
    fill(original, 0, 0);
    memset(theirs, 0, sizeof theirs);
    if (rank == 0) memcpy(theirs, original, most_bytes);
    MPI_Bcast(theirs, elements, type, 0, MPI_COMM_WORLD);
    wrong += differs(theirs, original, type);
    for (int to = 0; to < size; to++) {
      fill(original, rank, to);
      memcpy(mine + to * elements * extent, original, (size_t)(elements * extent));
    }
    memset(theirs, 0, sizeof theirs);
    MPI_Alltoall(mine, elements, type, theirs, elements, type, MPI_COMM_WORLD);
    for (int from = 0; from < size; from++) {
      fill(original, from, rank);
      wrong += differs(theirs + from * elements * extent, original, type);
    }
    MPI_Type_free(&type);
  }
  tell_verdict(wrong);
  MPI_Finalize();
  return 0;
}
