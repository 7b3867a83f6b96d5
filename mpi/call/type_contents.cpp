// SPDX-License-Identifier: Apache-2.0
#include "call/type_contents.hpp"

namespace antiphon::mpi {

bool how_made(MPI_Datatype type, Making& m) {
#if ANTIPHON_HAS_LARGE_COUNT
  // The older function is an error for types made with large counts, and that error may end the program.
  if (PMPI_Type_get_envelope_c != nullptr) {
    MPI_Count integers = 0;
    MPI_Count addresses = 0;
    MPI_Count counts = 0;
    MPI_Count types = 0;
    if (PMPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &m.combiner) != MPI_SUCCESS)
      return false;
    m.integers = static_cast<int>(integers);
    m.addresses = static_cast<int>(addresses);
    m.types = static_cast<int>(types);
    m.large = counts > 0;
    return true;
  }
#endif
  return PMPI_Type_get_envelope(type, &m.integers, &m.addresses, &m.types, &m.combiner) == MPI_SUCCESS;
}

bool parts_of(MPI_Datatype type, const Making& making, Parts& parts) {
  parts.integers.resize(static_cast<std::size_t>(making.integers) + 1);
  parts.addresses.resize(static_cast<std::size_t>(making.addresses) + 1);
  return PMPI_Type_get_contents(type, making.integers, making.addresses, 1, parts.integers.data(),
                                parts.addresses.data(), &parts.base) == MPI_SUCCESS;
}

bool is_predefined_type(MPI_Datatype type) {
  Making making;
  if (!how_made(type, making)) return true;
  for (const int predefined :
       {MPI_COMBINER_NAMED, MPI_COMBINER_F90_REAL, MPI_COMBINER_F90_COMPLEX, MPI_COMBINER_F90_INTEGER}) {
    if (making.combiner == predefined) return true;
  }
  return false;
}

void give_back(MPI_Datatype& part) {
  if (!is_predefined_type(part)) PMPI_Type_free(&part);
}

}  // namespace antiphon::mpi
