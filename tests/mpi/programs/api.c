/* SPDX-License-Identifier: Apache-2.0 */
/* The C API, in C89: prints the version and what bcast used, before and after it was forced and switched off. */
#include <stdio.h>

#include "antiphon.h"

static void use(const char* when, int rc) {
  char text[100] = "-";
  int value = 3, rank, chosen;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  chosen = antiphon_chosen(MPI_COMM_WORLD, "bcast", text, sizeof text);
  if (rank == 0) printf("%s: %d, %d %s\n", when, rc, chosen, text);
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("version %d\n", antiphon_version());
  use("chain", antiphon_force(MPI_COMM_WORLD, "bcast", "chain"));
  use("off", antiphon_enable(MPI_COMM_WORLD, "bcast", 0));
  use("wrong", antiphon_force(MPI_COMM_WORLD, "bcast", "no_such_algorithm"));
  use("elsewhere", antiphon_force(MPI_COMM_WORLD, NULL, "van_de_geijn"));
  MPI_Finalize();
  return 0;
}
