// SPDX-License-Identifier: Apache-2.0
// Multicast groups whose communicator is gone are left without waiting for any rank, and all are left at the end.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "multicast/open_groups.hpp"

namespace antiphon::mpi {

/// Takes over the groups of a communicator that this rank has freed, and Antiphon's own communicator of its ranks, all
/// of which call this. Calls no MPI function, because the library may free communicators inside its progress.
void leave_later(MPI_Comm own, std::vector<std::shared_ptr<OpenGroup>> groups);
/// Leaves the groups of communicators that all their ranks have freed: nobody needs this rank there any more. Does not
/// wait. Returns whether none is left.
bool go_on_leaving();

/// Completes what is under way; called before MPI_Finalize.
void drain_multicast();
/// Leaves all groups that are still open, once all ranks have called drain_multicast().
void stop_multicast();

}  // namespace antiphon::mpi
