// SPDX-License-Identifier: Apache-2.0
#include "fortran.hpp"

#if ANTIPHON_ABI_OPENMPI

#include "sentinel.hpp"

namespace antiphon::mpi {

void* buffer_from_fortran(void* buffer) {
  static const Sentinel in_place{"mpi_fortran_in_place_", "mpi_fortran_in_place", "mpi_fortran_in_place__", "MPI_FORTRAN_IN_PLACE"};
  static const Sentinel bottom{"mpi_fortran_bottom_", "mpi_fortran_bottom", "mpi_fortran_bottom__", "MPI_FORTRAN_BOTTOM"};
  if (in_place.is(buffer)) return MPI_IN_PLACE;
  if (bottom.is(buffer)) return MPI_BOTTOM;
  return buffer;
}

}  // namespace antiphon::mpi

#endif
