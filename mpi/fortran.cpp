// SPDX-License-Identifier: Apache-2.0
#include "fortran.hpp"

#if ANTIPHON_ABI_OPENMPI || ANTIPHON_ABI_MPICH

#include "reorder_order.hpp"
#include "sentinel.hpp"

namespace antiphon::mpi {

int* weights_from_fortran(MPI_Fint* weights) {
  static const Sentinel unweighted{"mpi_fortran_unweighted_", "mpi_fortran_unweighted", "mpi_fortran_unweighted__", "MPI_FORTRAN_UNWEIGHTED",
                                   "MPIR_F08_MPI_UNWEIGHTED", "__mpi_f08_link_constants_MOD_mpi_unweighted"};
  static const Sentinel empty{"mpi_fortran_weights_empty_", "mpi_fortran_weights_empty", "mpi_fortran_weights_empty__",
                              "MPI_FORTRAN_WEIGHTS_EMPTY", "MPIR_F08_MPI_WEIGHTS_EMPTY", "__mpi_f08_link_constants_MOD_mpi_weights_empty"};
  if (unweighted.is(weights)) return const_cast<int*>(reordering::unweighted());
  if (empty.is(weights)) return const_cast<int*>(reordering::weights_empty());
  return weights;
}

#if ANTIPHON_ABI_OPENMPI

void* buffer_from_fortran(void* buffer) {
  static const Sentinel in_place{"mpi_fortran_in_place_", "mpi_fortran_in_place", "mpi_fortran_in_place__", "MPI_FORTRAN_IN_PLACE"};
  static const Sentinel bottom{"mpi_fortran_bottom_", "mpi_fortran_bottom", "mpi_fortran_bottom__", "MPI_FORTRAN_BOTTOM"};
  if (in_place.is(buffer)) return MPI_IN_PLACE;
  if (bottom.is(buffer)) return MPI_BOTTOM;
  return buffer;
}

#endif

}  // namespace antiphon::mpi

#endif
