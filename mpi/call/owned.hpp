// SPDX-License-Identifier: Apache-2.0
// MPI_X_init needs copies of the caller's arrays and types, because they may be gone when the operation is started.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <vector>

#include "call/call.hpp"
#include "call/datatype.hpp"
#include "call/kept_reduction.hpp"
#include "call/own_type.hpp"

namespace antiphon::mpi {

/// Holds a call with arrays and types of its own. It copies only what MPI lets this rank look at.
class OwnedCall {
 public:
  OwnedCall(const Call& given, int rank, int size);
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
  std::vector<OwnType> types_;
  std::optional<KeptReduction> kept_;
};

}  // namespace antiphon::mpi
