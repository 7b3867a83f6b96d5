// SPDX-License-Identifier: Apache-2.0
// A communicator that can be made without waiting is a duplicate, and making one calls the copy functions of the
// program's attributes. The program asked for none: it may count its communicators there, wait for other ranks, or free
// in two delete functions what it has once.
#pragma once

#include <mpi.h>

namespace antiphon::mpi {

/// While this exists, the calling thread's duplicates get none of the program's attributes.
class WithoutAttributes {
 public:
  WithoutAttributes();
  ~WithoutAttributes();
  WithoutAttributes(const WithoutAttributes&) = delete;
  WithoutAttributes& operator=(const WithoutAttributes&) = delete;
};

/// Does MPI_Comm_create_keyval with a copy function that heeds WithoutAttributes, and otherwise is the program's.
/// Returns false if the library must do it with the program's own.
bool create_keyval(MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* remove, int* keyval, void* extra,
                   int& result);

}  // namespace antiphon::mpi
