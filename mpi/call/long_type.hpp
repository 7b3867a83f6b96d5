// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>

namespace antiphon::mpi {

/// Makes many elements count as one, where their count does not fit an int.
class LongType {
 public:
  LongType(std::int64_t count, MPI_Datatype type);
  ~LongType() { PMPI_Type_free(&type_); }
  LongType(const LongType&) = delete;
  LongType& operator=(const LongType&) = delete;
  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

inline LongType::LongType(std::int64_t count, MPI_Datatype type) {
  constexpr std::int64_t chunk = 1 << 30;
  const auto chunks = static_cast<int>(count / chunk);
  const auto rest = static_cast<int>(count % chunk);
  MPI_Aint lb = 0;
  MPI_Aint extent = 0;
  PMPI_Type_get_extent(type, &lb, &extent);
  MPI_Datatype one = MPI_DATATYPE_NULL;
  MPI_Datatype front = MPI_DATATYPE_NULL;
  PMPI_Type_contiguous(static_cast<int>(chunk), type, &one);
  PMPI_Type_contiguous(chunks, one, &front);
  int lengths[]{1, rest};
  MPI_Aint offsets[]{0, static_cast<MPI_Aint>(chunks) * chunk * extent};
  MPI_Datatype types[]{front, type};
  PMPI_Type_create_struct(2, lengths, offsets, types, &type_);
  PMPI_Type_commit(&type_);
  PMPI_Type_free(&front);
  PMPI_Type_free(&one);
}

}  // namespace antiphon::mpi
