// SPDX-License-Identifier: Apache-2.0
#include "call/own_type.hpp"

#include <utility>

#include "call/type_contents.hpp"

namespace antiphon::mpi {

OwnType::OwnType(MPI_Datatype of) : type_(of) {
  if (is_predefined_type(of)) return;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  if (PMPI_Type_contiguous(1, of, &made) != MPI_SUCCESS) return;
  made_ = true;
  type_ = made;
  PMPI_Type_commit(&type_);
}

OwnType::~OwnType() {
  if (made_) PMPI_Type_free(&type_);
}

OwnType::OwnType(OwnType&& other) noexcept : type_(other.type_), made_(std::exchange(other.made_, false)) {}

OwnType& OwnType::operator=(OwnType&& other) noexcept {
  std::swap(type_, other.type_);
  std::swap(made_, other.made_);
  return *this;
}

}  // namespace antiphon::mpi
