// SPDX-License-Identifier: Apache-2.0
// Says which version of Antiphon runs with this program: 0 for none.
#include <antiphon.h>
#include <stdio.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  printf("version %d\n", antiphon_version());
  MPI_Finalize();
  return 0;
}
