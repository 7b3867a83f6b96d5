// SPDX-License-Identifier: Apache-2.0
// Parameters of the MPI library whose defaults do not suit the network or the node. It reads them once, in MPI_Init.
#pragma once

#include <vector>

#include "job/library_parameter.hpp"

namespace antiphon::mpi {

/// Sets the parameters in this process's environment, where that is wanted and the user has set none of the kind.
void set_library_parameters();

/// Takes them out again, so that programs which this one starts have an environment like the user's.
void unset_library_parameters();

/// What this process did; empty: the library has no such parameter.
const std::vector<LibraryParameter>& library_parameters();

}  // namespace antiphon::mpi
