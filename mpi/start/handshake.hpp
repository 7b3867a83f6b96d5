// SPDX-License-Identifier: Apache-2.0
// Before the first message, ranks find out whether all of MPI_COMM_WORLD load the same object. A rank that does not
// would never answer, so only ranks that are known to take part send and receive.
#pragma once

namespace antiphon::mpi {

/// Runs before the library's MPI_Init.
void announce();

/// Runs after it. Returns, alike on all ranks that announced themselves, whether all ranks of MPI_COMM_WORLD did, with
/// the same identity. If not, one of them says why.
bool all_take_part();

}  // namespace antiphon::mpi
