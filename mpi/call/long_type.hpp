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

}  // namespace antiphon::mpi
