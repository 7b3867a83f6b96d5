// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace antiphon::mpi {

/// Compares where the ranks are with where ANTIPHON_PLACEMENT says that they should be, and reports a difference.
/// Collective over MPI_COMM_WORLD.
void check_placement();

}  // namespace antiphon::mpi
