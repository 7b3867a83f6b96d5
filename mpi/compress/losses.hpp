// SPDX-License-Identifier: Apache-2.0
// A message that its receiver lost (it was truncated) cannot be what later ones build on. The receiver tells the
// sender, which from then on sends it nothing that builds on anything.
#pragma once

namespace antiphon::mpi {

/// Tells that process of MPI_COMM_WORLD, once, that something it sent is lost.
void report_loss(int world_rank);
/// Whether that process has said so. Looks for such news first.
bool has_reported_loss(int world_rank);
void forget_losses();

}  // namespace antiphon::mpi
