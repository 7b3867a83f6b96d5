// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "call/datatype.hpp"

namespace antiphon::mpi {

/// Tells whether a reduction by this operation over this type may be scheduled: the standard allows it (MPI 5.0,
/// §6.9.2) and its elements can be worked on one by one. If not, the library does it or reports what is wrong. The
/// answer depends only on what all ranks must pass alike.
bool reducible(MPI_Op op, MPI_Datatype type, const TypeInfo& info);

}  // namespace antiphon::mpi
