// SPDX-License-Identifier: Apache-2.0
// This is Open MPI's header for an object that is loaded before, or without, Open MPI.
//
// MPI_COMM_WORLD, MPI_INT, … are addresses of objects in libmpi. A reference to one is bound when the preload object is
// loaded. If no libmpi is there yet (mpirun, a shell, Python before it imports an extension), the process would not
// even start. So they are looked up when they are first used. Functions need no such care, because they are bound
// lazily.
#pragma once

#include_next <mpi.h>

#include "../../job/library.hpp"

#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, object)                                  \
  ([]() {                                                                     \
    static void* const address = ::antiphon::mpi::predefined_object(#object); \
    return static_cast<type>(address);                                        \
  }())

// The address of a function is bound at load time, too.
#define ANTIPHON_PREDEFINED_FUNCTION(type, function) \
  (reinterpret_cast<type*>(::antiphon::mpi::predefined_object(#function)))
#undef MPI_COMM_NULL_COPY_FN
#define MPI_COMM_NULL_COPY_FN ANTIPHON_PREDEFINED_FUNCTION(MPI_Comm_copy_attr_function, OMPI_C_MPI_COMM_NULL_COPY_FN)
#undef MPI_COMM_NULL_DELETE_FN
#define MPI_COMM_NULL_DELETE_FN \
  ANTIPHON_PREDEFINED_FUNCTION(MPI_Comm_delete_attr_function, OMPI_C_MPI_COMM_NULL_DELETE_FN)
#undef MPI_TYPE_NULL_COPY_FN
#define MPI_TYPE_NULL_COPY_FN ANTIPHON_PREDEFINED_FUNCTION(MPI_Type_copy_attr_function, OMPI_C_MPI_TYPE_NULL_COPY_FN)
#undef MPI_TYPE_NULL_DELETE_FN
#define MPI_TYPE_NULL_DELETE_FN \
  ANTIPHON_PREDEFINED_FUNCTION(MPI_Type_delete_attr_function, OMPI_C_MPI_TYPE_NULL_DELETE_FN)
