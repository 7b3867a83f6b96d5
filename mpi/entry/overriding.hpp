// SPDX-License-Identifier: Apache-2.0
// A program may ask for choices on one communicator, through antiphon.h or MPI_Info keys.
#pragma once

#include <mpi.h>

#include <vector>

#include "antiphon/problem.hpp"

namespace antiphon::mpi {

/// Returns the collectives that a name means; null means all. The result is empty if there is no such name.
std::vector<Collective> collectives_named(const char* text);
/// Sets what these collectives use on `comm`, from a text as for parse_override(). Returns a code of antiphon.h.
int override_choice(MPI_Comm comm, const char* collective, const char* choice);
/// Applies the antiphon_* keys in `info`, after MPI_Comm_set_info or MPI_Comm_dup_with_info on `comm`.
void apply_info(MPI_Comm comm, MPI_Info info);

}  // namespace antiphon::mpi
