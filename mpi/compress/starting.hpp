// SPDX-License-Identifier: Apache-2.0
// The calls that start messages share these functions.
#pragma once

#include "compress/incoming.hpp"
#include "compress/outgoing.hpp"

namespace antiphon::mpi {

/// Hands the message over as a nonblocking send if it does not travel as it is.
bool start_framed(const SendArguments& message, Parcel& parcel, MPI_Request* request, int& result);
/// Keeps what a send needs until the program has completed it.
void keep_until_sent(Parcel parcel, MPI_Request request);

/// Takes the message for this receive if a probe has taken it out of the library; returns false if there is none. Call
/// it under messages.matching.
bool take_extracted(Messages& messages, int source, int tag, Extracted& message);
/// Returns a request that is complete.
MPI_Request completed_request();
/// Begins to receive a message that take_extracted() gave, without waiting for it. Call it under messages.matching,
/// which it releases. Stores a request that completes with the message.
int begin_extracted(Receive& receive, std::unique_lock<Mutex>& matching, Extracted message, MPI_Request* request);
/// Receives such a message, and waits for it.
int receive_extracted(Receive& receive, Extracted message, MPI_Status* status);
/// Receives and decodes, where it is kept, a message that the program has not asked for yet.
void receive_early(Messages& messages, Extracted& message);
/// Tracks the receive by this request of the program.
void track_receive(std::unique_ptr<Receive> receive, MPI_Request request);

/// Reports an error. If `code` differs from `library_code`, it is Antiphon's own, and the error handler does not know
/// of it yet.
int report(int code, int library_code, MPI_Comm comm);

}  // namespace antiphon::mpi
