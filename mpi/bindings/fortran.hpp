// SPDX-License-Identifier: Apache-2.0
// The generated Fortran wrappers need this: the names under which a Fortran program calls MPI, and its handles in C.
//
// With Open MPI, all Fortran bindings call PMPI_X, so wrapping MPI_X is not enough; the wrappers here call this
// object's own MPI_X. With MPICH, the bindings call MPI_X, except mpi_f08's procedures without choice buffers, which
// call PMPI_X. The standard ABI has no Fortran library yet.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "job/library.hpp"

namespace antiphon::mpi {

#if ANTIPHON_ABI_OPENMPI || ANTIPHON_ABI_MPICH

/// Returns Fortran's LOGICALs as C's truth values.
inline std::vector<int> logicals_from_fortran(const MPI_Fint* values, MPI_Fint count) {
  std::vector<int> list;
  for (MPI_Fint i = 0; i < count; ++i) list.push_back(values[i] != 0 ? 1 : 0);
  list.reserve(1);  // so that its address is not null
  return list;
}
/// Turns the addresses of Fortran's variables MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY into C's constants.
int* weights_from_fortran(MPI_Fint* weights);

#endif

#if ANTIPHON_ABI_OPENMPI

static_assert(sizeof(MPI_Fint) == sizeof(int), "arrays of counts are passed on as they are");

/// Turns the addresses of Fortran's variables MPI_IN_PLACE and MPI_BOTTOM into C's constants.
void* buffer_from_fortran(void* buffer);

inline MPI_Comm comm_from_fortran(MPI_Fint comm) { return PMPI_Comm_f2c(comm); }
inline MPI_Fint comm_to_fortran(MPI_Comm comm) { return PMPI_Comm_c2f(comm); }
inline MPI_Datatype datatype_from_fortran(MPI_Fint datatype) { return PMPI_Type_f2c(datatype); }
inline MPI_Op op_from_fortran(MPI_Fint op) { return PMPI_Op_f2c(op); }
inline MPI_Info info_from_fortran(MPI_Fint info) { return PMPI_Info_f2c(info); }

/// Returns how many blocks an exchange on `comm` has: to (with `sendbuf`, not in place) or from all ranks, or
/// neighbours.
int block_count_from_fortran(MPI_Fint comm, bool neighbours, void* sendbuf);

/// Holds an array of types. Those of a persistent call are `kept`, because the library may look at them at each start.
class FortranTypes {
 public:
  FortranTypes(const MPI_Fint* types, int count, bool kept);
  [[nodiscard]] const MPI_Datatype* get() const { return types_->data(); }

 private:
  std::shared_ptr<std::vector<MPI_Datatype>> types_;
};

/// Defines the names of a wrapper: each spelling that a compiler makes of it for mpif.h and `use mpi`, and the specific
/// procedure of `use mpi_f08`, which has the same arguments.
#define ANTIPHON_FORTRAN_NAMES(name, NAME, parameters)                    \
  ANTIPHON_FORTRAN_ALIAS(mpi_##name, name##_from_fortran, parameters)     \
  ANTIPHON_FORTRAN_ALIAS(mpi_##name##_, name##_from_fortran, parameters)  \
  ANTIPHON_FORTRAN_ALIAS(mpi_##name##__, name##_from_fortran, parameters) \
  ANTIPHON_FORTRAN_ALIAS(MPI_##NAME, name##_from_fortran, parameters)     \
  ANTIPHON_FORTRAN_ALIAS(mpi_##name##_f08_, name##_from_fortran, parameters)

#elif ANTIPHON_ABI_MPICH

// A handle is the same integer in both languages.
inline MPI_Comm comm_from_fortran(MPI_Fint comm) { return comm; }
inline MPI_Fint comm_to_fortran(MPI_Comm comm) { return comm; }
inline MPI_Info info_from_fortran(MPI_Fint info) { return info; }

#define ANTIPHON_FORTRAN_NAMES(name, NAME, parameters) \
  ANTIPHON_FORTRAN_ALIAS(mpi_##name##_f08_, name##_from_fortran, parameters)

#endif

#define ANTIPHON_FORTRAN_ALIAS(symbol, target, parameters) \
  ANTIPHON_EXPORT void symbol parameters __attribute__((alias(#target)));

}  // namespace antiphon::mpi
