// SPDX-License-Identifier: Apache-2.0
// MPI libraries of one ABI differ in these traits, so the library in the process is asked.
#pragma once

#include <mpi.h>

#include <string>

namespace antiphon::mpi {

/// Returns the version text that the MPI library reports.
std::string library_version();

/// Returns "openmpi", "mpich" or "". Only the library itself can tell, because one ABI has several implementations.
std::string library_name();

/// Returns false for MPICH 4.0: there, MPI_Startall of its own persistent collectives fails ("already active"), and
/// messages under way beside one end in a failed assertion of its UCX device.
bool library_restarts_requests();

/// Tells whether the library is known to have a parameter for how long its ranks look before they give their core away:
/// MPICH from version 5 on.
bool library_throttles_polling();

/// Tells whether making a communicator holds up all others. Open MPI gives ids to one at a time, the lowest parent
/// first: beside one that some ranks have not begun, a rank makes no other.
bool library_orders_ids();

/// Tells whether two ranks connect only when one first sends to the other, and both must call the library until they
/// have: Open MPI over TCP.
bool library_connects_late();

/// Tells whether MPI_Finalize may never return: in MPICH 4.0 over UCX, ranks wait in it for answers of others that look
/// for messages no more.
bool library_may_stay_in_finalize();

/// Tells whether programs may go on after the failure of a rank (ULFM, Open MPI's --with-ft). They call off what others
/// wait for on their own communicators alone.
bool library_survives_failures();

/// Tells whether testing for messages already gives the core away when there are none. Open MPI does so where it was
/// told, or saw, that there are more ranks than cores; a second yield would give every other rank of the core two
/// turns.
bool library_yields();

/// Makes it do so from now on, if it is Open MPI.
void make_library_yield();

/// Tells whether messages within a node are of a kind that the rules for one node were measured beside: Open MPI's own
/// shared memory, not another library's below it, whose short messages are faster, or MPICH's.
bool library_messages_are_known_within_nodes();

/// Tells whether threads are the ranks of a communicator (MPICH's MPIX_Threadcomm_init). The library alone knows which
/// of them calls.
bool ranks_are_threads(MPI_Comm comm);

}  // namespace antiphon::mpi
