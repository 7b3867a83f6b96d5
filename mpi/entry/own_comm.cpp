// SPDX-License-Identifier: Apache-2.0
#include "entry/own_comm.hpp"

#include <sched.h>

#include "entry/keyvals.hpp"
#include "entry/operations.hpp"
#include "job/progress.hpp"
#include "run/library_progress.hpp"

namespace antiphon::mpi {

OwnComm::~OwnComm() {
  if (begun_ && get() != MPI_COMM_NULL) PMPI_Comm_free(&own_);
}

MPI_Comm OwnComm::get() {
  if (begun_) {
    while (true) {
      {
        const operations::Lock lock;
        if (ready()) return own_;
      }
      if (operations_under_way()) make_progress();
      sched_yield();
    }
  }
  MPI_Group group = MPI_GROUP_NULL;
  PMPI_Comm_group(of_, &group);
  const int rc = quietly([&] { return PMPI_Comm_create(of_, group, &own_); });
  PMPI_Group_free(&group);
  if (rc != MPI_SUCCESS || own_ == MPI_COMM_NULL) throw NoMoreCommunicators();
  begun_ = true;
  PMPI_Comm_set_errhandler(own_, MPI_ERRORS_RETURN);
  return own_;
}

/// The program's error handler hears of no failure: without another communicator the library does its calls.
int OwnComm::quietly(const std::function<int()>& create) {
  MPI_Errhandler of_program = MPI_ERRHANDLER_NULL;
  PMPI_Comm_get_errhandler(of_, &of_program);
  PMPI_Comm_set_errhandler(of_, MPI_ERRORS_RETURN);
  const int rc = create();
  PMPI_Comm_set_errhandler(of_, of_program);
  if (of_program != MPI_ERRORS_ARE_FATAL && of_program != MPI_ERRORS_RETURN) PMPI_Errhandler_free(&of_program);
  return rc;
}

void OwnComm::begin() {
  if (begun_) return;
  // Only a duplicate can be made without waiting.
  const int rc = quietly([this] {
    const WithoutAttributes bare;
    return PMPI_Comm_idup(of_, &own_, &making_);
  });
  if (rc != MPI_SUCCESS) throw NoMoreCommunicators();
  begun_ = true;
}

void OwnComm::outlive_original() {
#if defined(ANTIPHON_ABI_OPENMPI)
  // Open MPI needs the original until the duplicate is complete, although MPI_Comm_free need not wait for that.
  if (begun_) get();
#endif
}

bool OwnComm::ready() {
  if (making_ == MPI_REQUEST_NULL) return true;
  if (!is_over(making_)) return false;
  PMPI_Comm_set_errhandler(own_, MPI_ERRORS_RETURN);
  return true;
}

}  // namespace antiphon::mpi
