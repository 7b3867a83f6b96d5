// SPDX-License-Identifier: Apache-2.0
// A program may free an operation or a type as soon as the call that uses it has started. Neither can be copied: an
// operation may recognise its type by the handle. So what a reduction under way needs is freed when it is over.
#pragma once

#include <mpi.h>

namespace antiphon::mpi {

/// Keeps the operation and the type of a reduction usable while this exists, even if the program frees them.
class KeptReduction {
 public:
  KeptReduction(MPI_Op op, MPI_Datatype type);
  ~KeptReduction();
  KeptReduction(const KeptReduction&) = delete;
  KeptReduction& operator=(const KeptReduction&) = delete;

 private:
  MPI_Op op_;
  MPI_Datatype type_;
};

/// Does MPI_Op_free for an operation that is kept: the program's handle becomes null, and the rest follows later.
/// Returns false if the library must do it now.
bool free_operation(MPI_Op* op, int& result);
/// The same for MPI_Type_free.
bool free_type(MPI_Datatype* type, int& result);

}  // namespace antiphon::mpi
