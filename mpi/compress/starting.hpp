// SPDX-License-Identifier: Apache-2.0
// What the calls that start messages share.
#pragma once

#include "compress/incoming.hpp"
#include "compress/outgoing.hpp"

namespace antiphon::mpi {

/// Hands the message over as a nonblocking send if it travels otherwise than as it is.
bool start_framed(const SendArguments& message, Parcel& parcel, MPI_Request* request, int& result);
/// Keeps what a send needs until the program has completed it.
void keep_until_sent(Parcel parcel, MPI_Request request);

/// A message that a probe took out of the library and that this receive gets. Under messages.matching (which it may let
/// go of for a while). False: there is none.
bool take_extracted(Messages& messages, std::unique_lock<Mutex>& matching, int source, int tag, Extracted& message);
/// A request that is complete.
MPI_Request completed_request();
/// Of a receive that has got a message already: a request that says so.
MPI_Request track_delivered(std::unique_ptr<Receive> receive, const Extracted& message);

/// `code` is ours, not the library's, if it is none of its: then the error handler has not heard of it yet.
int report(int code, int library_code, MPI_Comm comm);

}  // namespace antiphon::mpi
