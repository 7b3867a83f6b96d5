// SPDX-License-Identifier: Apache-2.0
// The library runs blocking collectives in this way while Antiphon's own persistent operations are under way.
#pragma once

#include "call/call.hpp"

namespace antiphon::mpi {

/// Runs a blocking collective of the library as a nonblocking one, so that operations advance beside it. All ranks must
/// do it this way, or none. Returns an MPI error code.
int run_aside(const Call& call);

}  // namespace antiphon::mpi
