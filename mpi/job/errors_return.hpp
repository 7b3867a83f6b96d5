// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

namespace antiphon::mpi {

/// Makes calls on one of the program's communicators return errors during its lifetime, whatever handler it has.
class ErrorsReturn {
 public:
  explicit ErrorsReturn(MPI_Comm comm) : comm_(comm), of_program_(MPI_ERRHANDLER_NULL) {
    PMPI_Comm_get_errhandler(comm_, &of_program_);
    PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }
  ~ErrorsReturn() {
    PMPI_Comm_set_errhandler(comm_, of_program_);
    if (of_program_ != MPI_ERRORS_ARE_FATAL && of_program_ != MPI_ERRORS_RETURN) PMPI_Errhandler_free(&of_program_);
  }
  ErrorsReturn(const ErrorsReturn&) = delete;
  ErrorsReturn& operator=(const ErrorsReturn&) = delete;

 private:
  MPI_Comm comm_;
  MPI_Errhandler of_program_;
};

}  // namespace antiphon::mpi
