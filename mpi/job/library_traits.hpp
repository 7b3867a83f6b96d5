// SPDX-License-Identifier: Apache-2.0
// What differs between MPI libraries of one ABI: the library in the process is asked.
#pragma once

#include <string>

namespace antiphon::mpi {

/// What the MPI library says of itself.
std::string library_version();

/// "openmpi", "mpich" or "": an ABI has several implementations, so only the library itself tells.
std::string library_name();

/// False for MPICH 4.0: MPI_Startall of its own persistent collectives fails ("already active"), and messages under way
/// beside one end in a failed assertion of its UCX device.
bool library_restarts_requests();

/// Whether testing for messages already gives the core away when there are none. Open MPI does so where it was told, or
/// saw, that there are more ranks than cores; to yield twice would give every other rank of the core two turns.
bool library_yields();

}  // namespace antiphon::mpi
