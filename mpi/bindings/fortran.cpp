// SPDX-License-Identifier: Apache-2.0
#include "bindings/fortran.hpp"

#if ANTIPHON_ABI_OPENMPI || ANTIPHON_ABI_MPICH

#include <deque>
#include <mutex>

#include "bindings/sentinel.hpp"
#include "call/neighbours.hpp"
#include "topology/reorder_order.hpp"

namespace antiphon::mpi {

int* weights_from_fortran(MPI_Fint* weights) {
  static const Sentinel unweighted{"mpi_fortran_unweighted_",  "mpi_fortran_unweighted",
                                   "mpi_fortran_unweighted__", "MPI_FORTRAN_UNWEIGHTED",
                                   "MPIR_F08_MPI_UNWEIGHTED",  "__mpi_f08_link_constants_MOD_mpi_unweighted"};
  static const Sentinel empty{"mpi_fortran_weights_empty_",  "mpi_fortran_weights_empty",
                              "mpi_fortran_weights_empty__", "MPI_FORTRAN_WEIGHTS_EMPTY",
                              "MPIR_F08_MPI_WEIGHTS_EMPTY",  "__mpi_f08_link_constants_MOD_mpi_weights_empty"};
  if (unweighted.is(weights)) return const_cast<int*>(reordering::unweighted());
  if (empty.is(weights)) return const_cast<int*>(reordering::weights_empty());
  return weights;
}

#if ANTIPHON_ABI_OPENMPI

void* buffer_from_fortran(void* buffer) {
  static const Sentinel in_place{"mpi_fortran_in_place_", "mpi_fortran_in_place", "mpi_fortran_in_place__",
                                 "MPI_FORTRAN_IN_PLACE"};
  static const Sentinel bottom{"mpi_fortran_bottom_", "mpi_fortran_bottom", "mpi_fortran_bottom__",
                               "MPI_FORTRAN_BOTTOM"};
  if (in_place.is(buffer)) return MPI_IN_PLACE;
  if (bottom.is(buffer)) return MPI_BOTTOM;
  return buffer;
}

int block_count_from_fortran(MPI_Fint comm, bool neighbours, void* sendbuf) {
  const bool sends = sendbuf != nullptr;
  if (sends && buffer_from_fortran(sendbuf) == MPI_IN_PLACE) return 0;
  const MPI_Comm c_comm = comm_from_fortran(comm);
  if (neighbours) {
    const NeighbourLists lists = neighbours_of(c_comm);
    return static_cast<int>((sends ? lists.destinations : lists.sources).size());
  }
  int inter = 0;
  int size = 0;
  PMPI_Comm_test_inter(c_comm, &inter);
  if (inter != 0) PMPI_Comm_remote_size(c_comm, &size);
  else PMPI_Comm_size(c_comm, &size);
  return size;
}

FortranTypes::FortranTypes(const MPI_Fint* types, int count, bool kept)
    : types_(std::make_shared<std::vector<MPI_Datatype>>()) {
  for (int i = 0; i < count; ++i) types_->push_back(datatype_from_fortran(types[i]));
  if (!kept) return;
  static std::mutex mutex;
  static std::deque<std::shared_ptr<std::vector<MPI_Datatype>>> all;
  const std::lock_guard lock(mutex);
  all.push_back(types_);
}

#endif

}  // namespace antiphon::mpi

#endif
