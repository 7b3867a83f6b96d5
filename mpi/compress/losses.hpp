// SPDX-License-Identifier: Apache-2.0
// Later messages cannot build on one that its receiver lost (it was truncated). The receiver tells the sender, which
// from then on sends it only messages that build on nothing.
#pragma once

namespace antiphon::mpi {

/// Tells that process of MPI_COMM_WORLD, once, that a message from it is lost.
void report_loss(int world_rank);
/// Tells whether that process has reported a loss. Looks for such news first.
bool has_reported_loss(int world_rank);
/// Receives the news that nobody has looked for: MPICH does not end with any left. Collective over MPI_COMM_WORLD.
void receive_last_news();
void forget_losses();

}  // namespace antiphon::mpi
