// SPDX-License-Identifier: Apache-2.0
// Parameters of the MPI library whose defaults do not suit the network or the node.
#pragma once

#include <vector>

#include "antiphon/fact.hpp"
#include "job/shared_cores.hpp"

namespace antiphon::mpi {

/// Sets parameters that the library reads once, in MPI_Init, in this process's environment, where that is wanted and
/// the user has set none of the kind.
void set_parameters_before_init();

/// Takes them out again, so that programs which this one starts have an environment like the user's.
void unset_parameters_after_init();

/// Sets how ranks wait, which depends on where all ranks are and on what limits this one, within MPI_Init.
void set_ways_to_wait(const Crowd& crowd);

/// What this process did; empty: the library has no such parameter.
const std::vector<Fact>& library_parameters();

}  // namespace antiphon::mpi
