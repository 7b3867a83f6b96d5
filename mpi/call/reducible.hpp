// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "call/datatype.hpp"

namespace antiphon::mpi {

/// Tells whether a reduction by this operation over this type may be scheduled: the standard allows it (MPI 5.0,
/// §6.9.2) and its elements can be worked on one by one. If not, the library does it or reports what is wrong. The
/// answer depends only on what all ranks must pass alike.
bool reducible(MPI_Op op, MPI_Datatype type, const TypeInfo& info);

/// Tells whether the result of a reducible operation is the same to the last bit in whatever order it works: that of a
/// predefined one on whole numbers, truth values or bits. Minimum and maximum of floating-point numbers are not (the
/// sign of a zero, NaN). The answer depends only on what all ranks must pass alike.
bool is_exact(MPI_Op op, MPI_Datatype type);

/// Tells whether the operation is one of the standard's, which no program frees.
bool is_predefined(MPI_Op op);

}  // namespace antiphon::mpi
