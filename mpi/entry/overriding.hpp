// SPDX-License-Identifier: Apache-2.0
// What a program asks for on one communicator, through antiphon.h or MPI_Info keys.
#pragma once

#include <mpi.h>

#include <vector>

#include "antiphon/problem.hpp"

namespace antiphon::mpi {

/// The collectives that a name means; null means all. Empty: no such name.
std::vector<Collective> collectives_named(const char* text);
/// Sets what these collectives use on `comm`, a text as for parse_override(). Returns a code of antiphon.h.
int override_choice(MPI_Comm comm, const char* collective, const char* choice);
/// After MPI_Comm_set_info or MPI_Comm_dup_with_info on `comm`: the antiphon_* keys in `info`.
void apply_info(MPI_Comm comm, MPI_Info info);

}  // namespace antiphon::mpi
