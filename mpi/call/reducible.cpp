// SPDX-License-Identifier: Apache-2.0
#include "call/reducible.hpp"

#include <algorithm>
#include <initializer_list>

namespace antiphon::mpi {

namespace {

template <typename Handle>
bool any_of(Handle wanted, std::initializer_list<Handle> list) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

bool is_integer(MPI_Datatype type) {
  return any_of<MPI_Datatype>(type, {MPI_INT,         MPI_LONG,          MPI_SHORT,     MPI_UNSIGNED_SHORT,
                                     MPI_UNSIGNED,    MPI_UNSIGNED_LONG, MPI_LONG_LONG, MPI_UNSIGNED_LONG_LONG,
                                     MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_INT8_T,    MPI_INT16_T,
                                     MPI_INT32_T,     MPI_INT64_T,       MPI_UINT8_T,   MPI_UINT16_T,
                                     MPI_UINT32_T,    MPI_UINT64_T,      MPI_INTEGER,   MPI_AINT,
                                     MPI_OFFSET,      MPI_COUNT});
}

bool is_floating(MPI_Datatype type) {
  return any_of<MPI_Datatype>(type, {MPI_DOUBLE, MPI_FLOAT, MPI_LONG_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION});
}

bool is_complex(MPI_Datatype type) {
  return any_of<MPI_Datatype>(
      type, {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX, MPI_COMPLEX, MPI_DOUBLE_COMPLEX});
}

bool is_pair(MPI_Datatype type) {
  return any_of<MPI_Datatype>(type, {MPI_2INT, MPI_DOUBLE_INT, MPI_FLOAT_INT, MPI_LONG_INT, MPI_SHORT_INT,
                                     MPI_LONG_DOUBLE_INT, MPI_2INTEGER, MPI_2REAL, MPI_2DOUBLE_PRECISION});
}

/// Types that are not listed (a compiler's own, Fortran's optional kinds) are left to the library.
bool predefined_takes(MPI_Op op, MPI_Datatype type) {
  if (any_of<MPI_Op>(op, {MPI_MAX, MPI_MIN})) return is_integer(type) || is_floating(type);
  if (any_of<MPI_Op>(op, {MPI_SUM, MPI_PROD})) return is_integer(type) || is_floating(type) || is_complex(type);
  if (any_of<MPI_Op>(op, {MPI_LAND, MPI_LOR, MPI_LXOR}))
    return is_integer(type) || type == MPI_C_BOOL || type == MPI_LOGICAL;
  if (any_of<MPI_Op>(op, {MPI_BAND, MPI_BOR, MPI_BXOR})) return is_integer(type) || type == MPI_BYTE;
  return is_pair(type);
}

}  // namespace

bool is_predefined(MPI_Op op) {
  return any_of<MPI_Op>(op, {MPI_SUM, MPI_MAX, MPI_MIN, MPI_PROD, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR,
                             MPI_BXOR, MPI_MAXLOC, MPI_MINLOC});
}

bool is_exact(MPI_Op op, MPI_Datatype type) {
  const bool whole = is_integer(type) || any_of<MPI_Datatype>(type, {MPI_C_BOOL, MPI_LOGICAL, MPI_BYTE, MPI_2INT,
                                                                     MPI_LONG_INT, MPI_SHORT_INT, MPI_2INTEGER});
  return whole && is_predefined(op);
}

bool reducible(MPI_Op op, MPI_Datatype type, const TypeInfo& info) {
  if (any_of<MPI_Op>(op, {MPI_OP_NULL, MPI_REPLACE, MPI_NO_OP})) return false;
  // Elements that overlap or lie backwards cannot be worked on one by one.
  if (info.size_bytes == 0 || info.extent_bytes <= 0 || info.true_extent_bytes > info.extent_bytes) return false;
  // Schedules count the bytes of a type without gaps from its address, where such a type has none of its own.
  if (info.size_bytes == info.extent_bytes && info.true_lb_bytes != 0) return false;
  return !is_predefined(op) || (info.predefined && predefined_takes(op, type));
}

}  // namespace antiphon::mpi
