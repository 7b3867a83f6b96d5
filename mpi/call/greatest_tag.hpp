// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "call/own_tags.hpp"

namespace antiphon::mpi {

/// Returns the greatest tag that the library takes; that of the standard if it does not say.
inline int greatest_tag() {
  int* greatest = nullptr;
  int found = 0;
  PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&greatest), &found);
  return found != 0 ? *greatest : 32767;
}

/// Returns the tags of one of Antiphon's own communicators.
inline OwnTags own_tags(MPI_Comm comm) {
  int ranks = 0;
  PMPI_Comm_size(comm, &ranks);
  return {greatest_tag(), ranks};
}

}  // namespace antiphon::mpi
