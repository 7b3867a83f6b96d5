// SPDX-License-Identifier: Apache-2.0
#include "bindings/fortran_p2p.hpp"

#if ANTIPHON_ABI_OPENMPI || ANTIPHON_ABI_MPICH

#include "bindings/sentinel.hpp"

namespace antiphon::mpi {

namespace {

#if ANTIPHON_ABI_OPENMPI
const Sentinel& ignore_one() {
  static const Sentinel sentinel{"mpi_fortran_status_ignore_", "mpi_fortran_status_ignore",
                                 "mpi_fortran_status_ignore__", "MPI_FORTRAN_STATUS_IGNORE"};
  return sentinel;
}
const Sentinel& ignore_all() {
  static const Sentinel sentinel{"mpi_fortran_statuses_ignore_", "mpi_fortran_statuses_ignore",
                                 "mpi_fortran_statuses_ignore__", "MPI_FORTRAN_STATUSES_IGNORE"};
  return sentinel;
}
#else
// Only mpi_f08 comes here, because the other bindings call MPI_X with C's constants.
const Sentinel& ignore_one() {
  static const Sentinel sentinel{"MPIR_F08_MPI_STATUS_IGNORE_OBJ", "MPIR_F08_MPI_STATUS_IGNORE"};
  return sentinel;
}
const Sentinel& ignore_all() {
  static const Sentinel sentinel{"MPIR_F08_MPI_STATUSES_IGNORE_OBJ", "MPIR_F08_MPI_STATUSES_IGNORE"};
  return sentinel;
}
#endif

}  // namespace

MPI_Status* status_from_fortran(MPI_Fint* status) {
  return ignore_one().is(status) ? MPI_STATUS_IGNORE : reinterpret_cast<MPI_Status*>(status);
}

MPI_Status* statuses_from_fortran(MPI_Fint* statuses) {
  return ignore_all().is(statuses) ? MPI_STATUSES_IGNORE : reinterpret_cast<MPI_Status*>(statuses);
}

}  // namespace antiphon::mpi

#endif
