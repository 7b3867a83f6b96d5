// SPDX-License-Identifier: Apache-2.0
// Copies of what a caller hands to MPI_X_init: its arrays and types may be gone when the operation is started.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "call/call.hpp"
#include "call/datatype.hpp"

namespace antiphon::mpi {

/// A call with arrays and types of its own. Only what MPI lets this rank look at is copied.
class OwnedCall {
 public:
  OwnedCall(const Call& given, int rank, int size);
  ~OwnedCall();
  OwnedCall(const OwnedCall&) = delete;
  OwnedCall& operator=(const OwnedCall&) = delete;
  [[nodiscard]] const Call& get() const { return call_; }

 private:
  Integers keep(const Integers& given, int size);
  MPI_Datatype keep(MPI_Datatype type);
  const MPI_Datatype* keep(const MPI_Datatype* types, const Integers& counts, int size);

  Call call_;
  std::vector<std::unique_ptr<long[]>> numbers_;
  std::vector<std::vector<MPI_Datatype>> lists_;
  std::vector<MPI_Datatype> types_;  ///< to be freed
};

}  // namespace antiphon::mpi
