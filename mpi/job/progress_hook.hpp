// SPDX-License-Identifier: Apache-2.0
// Some libraries call other code whenever they make progress. Through this hook, operations advance in every MPI call
// that waits or tests, also inside the library's own collectives, which no wrapper could make wait in another way.
#pragma once

#include <mpi.h>

namespace antiphon::mpi::progress_hook {

/// Tells whether the library has such a hook: Open MPI has one, and MPICH from 4.3 on under its own ABI. It is the same
/// on every rank, because the ranks of a job use one library.
bool available();

/// Looks after what is under way. It sets `completed` if anything was completed, and returns false if nothing is left.
using Look = bool (*)(bool& completed);

/// Makes the library call `look` from now on, until that returns false. Call it again only after that.
void call_back(Look look);
/// Makes the library tell of each of its looks for messages, until MPI_Finalize. Call it at most once.
void tell_of_looks(void (*told)());
/// Ends what call_back() began; called before the library ends.
void release();
/// MPICH has no hook any more while MPI_Finalize calls the program's functions: waits advance operations there.
void before_finalize();

namespace detail {
inline constinit thread_local bool inside [[gnu::tls_model("initial-exec")]] = false;
inline int (*request_is_complete)(MPI_Request) = nullptr;  ///< set before the first look
}  // namespace detail
/// Tells whether this thread is in a look that must make no progress itself: MPICH holds a lock around it.
inline bool forbids_progress() { return detail::inside; }
/// Tells whether a request has ended, without making progress. Call it only where progress is forbidden.
inline bool is_complete(MPI_Request request) { return detail::request_is_complete(request) != 0; }

}  // namespace antiphon::mpi::progress_hook
