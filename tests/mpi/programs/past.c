/* SPDX-License-Identifier: Apache-2.0 */
/* Uses MPI without a collective; without arguments it also goes past everything that is preloaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>

int main(int argc, char** argv) {
  if (argc > 1) {
    MPI_Init(&argc, &argv);
    return MPI_Finalize();
  }
  Dl_info library;
  dladdr(dlsym(RTLD_DEFAULT, "PMPI_Comm_rank"), &library);
  void* handle = dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  int (*init)(int*, char***) = (int (*)(int*, char***))dlsym(handle, "MPI_Init");
  int (*finalize)(void) = (int (*)(void))dlsym(handle, "MPI_Finalize");
  return init(&argc, &argv) != 0 ? 1 : finalize();
}
