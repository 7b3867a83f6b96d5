// SPDX-License-Identifier: Apache-2.0
#include "entry/program_request.hpp"

namespace antiphon::mpi {

namespace {

/// Fills the status of an ended request, and returns how the operation ended.
int query(void* result, MPI_Status* status) {
  PMPI_Status_set_elements(status, MPI_BYTE, 0);
  PMPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return *static_cast<int*>(result);
}

int free_result(void* result) {
  delete static_cast<int*>(result);
  return MPI_SUCCESS;
}

/// Nothing can be cancelled: other ranks count on this one.
int cancel(void*, int) { return MPI_SUCCESS; }

}  // namespace

int ProgramRequest::begin(MPI_Request* request) {
  auto* const result = new int(MPI_SUCCESS);
  const int rc = PMPI_Grequest_start(query, free_result, cancel, result, &request_);
  if (rc != MPI_SUCCESS) {
    delete result;
    return rc;
  }
  result_ = result;
  *request = request_;
  return MPI_SUCCESS;
}

void ProgramRequest::end(int rc) {
  *result_ = rc;
  PMPI_Grequest_complete(request_);
}

}  // namespace antiphon::mpi
