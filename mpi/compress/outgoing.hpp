// SPDX-License-Identifier: Apache-2.0
// A message on its way out: as it is, or as a frame.
#pragma once

#include <mpi.h>

#include <mutex>

#include "compress/native.hpp"
#include "compress/pool.hpp"

namespace antiphon::mpi {

struct OutLink;

/// The arguments of a send.
struct Outgoing {
  SendMode mode = SendMode::standard;
  const void* buffer = nullptr;
  std::int64_t count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int peer = MPI_PROC_NULL;
  int tag = 0;
  MPI_Comm comm = MPI_COMM_NULL;
};

/// What must stay until the library has sent the message.
struct Parcel {
  Buffer frame;
  Buffer packed;
  OutLink* link = nullptr;  ///< whose encoder may count on the message's arrival
};

/// What is handed to the library instead of the program's buffer, as MPI_BYTE.
struct Wire {
  const std::byte* data = nullptr;
  int bytes = 0;
};

namespace outgoing {

/// The link's lock, and what to send.
class Prepared {
 public:
  Prepared(const Outgoing& message, Parcel& parcel);
  [[nodiscard]] bool as_it_is() const { return wire_.data == nullptr; }
  [[nodiscard]] const Wire& wire() const { return wire_; }

 private:
  std::unique_lock<std::mutex> lock_;
  Wire wire_;
};

}  // namespace outgoing

/// Runs `post(wire)` if this message travels otherwise than as it is; `result` is what that returned. False: nothing was
/// done, the program's own buffer is to be sent. `post` must hand the message to the library before it returns: frames of
/// a link must match in the order in which they were made.
template <class Post>
bool dispatch(const Outgoing& message, Parcel& parcel, int& result, Post&& post) {
  const outgoing::Prepared prepared(message, parcel);
  if (prepared.as_it_is()) return false;
  result = post(prepared.wire());
  return true;
}

/// The message was cancelled: its peer will never see it, so nothing may build on it, and the link stays uncompressed.
void forget_cancelled(const Parcel& parcel);

/// Gives back what side messages needed once they are sent; with `wait`, waits for all of them.
void reap_side_messages(bool wait);

}  // namespace antiphon::mpi
