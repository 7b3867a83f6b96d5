// SPDX-License-Identifier: Apache-2.0
#include "run/node_memory.hpp"

namespace antiphon::mpi {

int NodeMemory::error_of_loss() {
  static const int code = []() -> int {
    int fresh = MPI_ERR_OTHER;
    if (PMPI_Add_error_code(MPI_ERR_OTHER, &fresh) != MPI_SUCCESS) return MPI_ERR_OTHER;
    PMPI_Add_error_string(fresh,
                          "messages through shared memory are lost: a rank of this node has ended, or its "
                          "memory cannot be read any more");
    return fresh;
  }();
  return code;
}

}  // namespace antiphon::mpi
