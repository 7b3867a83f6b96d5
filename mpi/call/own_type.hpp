// SPDX-License-Identifier: Apache-2.0
// A program may free a datatype while it is in use here. MPI_Type_dup would copy the program's attributes, too: its
// copy and delete functions would run for a type that it knows nothing of.
#pragma once

#include <mpi.h>

namespace antiphon::mpi {

/// Holds a type of one element of another, which has the same data in the same places and no attributes.
class OwnType {
 public:
  OwnType() : type_(MPI_DATATYPE_NULL) {}
  /// Where there need be no such type, because nobody frees the other, or there can be none, get() returns the other.
  explicit OwnType(MPI_Datatype of);
  ~OwnType();
  OwnType(OwnType&& other) noexcept;
  OwnType& operator=(OwnType&& other) noexcept;

  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_;
  bool made_ = false;
};

}  // namespace antiphon::mpi
