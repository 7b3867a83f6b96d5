// SPDX-License-Identifier: Apache-2.0
#include "entry/in_finalize.hpp"

namespace antiphon::mpi {

bool call_in_finalize(MPI_Comm_delete_attr_function* function, void* value) {
  int keyval = MPI_KEYVAL_INVALID;
  if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, function, &keyval, nullptr) != MPI_SUCCESS) return false;
  const bool is_set = PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, value) == MPI_SUCCESS;
  PMPI_Comm_free_keyval(&keyval);
  return is_set;
}

}  // namespace antiphon::mpi
