// SPDX-License-Identifier: Apache-2.0
// A message leaves as it is, or as a frame.
#pragma once

#include <mpi.h>

#include <mutex>

#include "call/datatype.hpp"
#include "compress/mutex.hpp"
#include "compress/native.hpp"
#include "compress/pool.hpp"

namespace antiphon::mpi {

/// Holds the arguments of a send.
struct SendArguments {
  SendMode mode = SendMode::standard;
  const void* buffer = nullptr;
  std::int64_t count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int peer = MPI_PROC_NULL;
  int tag = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  const TypeInfo* info = nullptr;  ///< of the type, if it is known
};

/// Holds what must stay until the library has sent the message.
struct Parcel {
  Buffer frame;
  Buffer packed;
  /// Tells whether the message is a copy, so that the program's buffer is not needed.
  [[nodiscard]] bool is_copy() const { return frame || packed; }
};

/// Describes what the library gets instead of the program's buffer.
struct Wire {
  const std::byte* data = nullptr;
  int bytes = 0;
  bool has_gap = false;    ///< the last gap_bytes lie gap_bytes further on
  int code = MPI_SUCCESS;  ///< otherwise why the message, or one that goes with it, cannot be sent
};
inline constexpr int gap_bytes = 16;

/// Calls the library's MPI_Isend for it.
int post(const Wire& wire, const SendArguments& message, MPI_Request* request);

namespace outgoing {

/// Holds the link's lock, and what to send. The message must be handed to the library while it lives, because frames of
/// a link must match in the order in which they were made.
class Prepared {
 public:
  /// Without `waits`, nothing is prepared while another thread sends to that peer.
  Prepared(const SendArguments& message, Parcel& parcel, bool waits = true);
  [[nodiscard]] bool comes_too_early() const { return comes_too_early_; }
  [[nodiscard]] bool as_it_is() const { return wire_.data == nullptr && wire_.code == MPI_SUCCESS; }
  [[nodiscard]] const Wire& wire() const { return wire_; }

 private:
  std::unique_lock<Mutex> lock_;
  bool comes_too_early_ = false;
  Wire wire_;
};

}  // namespace outgoing

/// What became of a message that was held back.
struct Started {
  bool started = false;    ///< if not, another thread is sending to that peer
  int code = MPI_SUCCESS;  ///< an MPI error code, of which no error handler has heard
  std::int64_t bytes = 0;  ///< on the wire; 0: as many as the program's message has
};
/// Starts a message in whatever form it travels. Without `waits` it waits for no other thread, as the library's
/// progress demands, and may start nothing.
Started start_held(const SendArguments& message, bool waits, Parcel& parcel, MPI_Request* request);

/// Tells whether a persistent send's messages may ever be framed, and inspects its type.
bool worth_tracking(const SendArguments& message, TypeInfo& info);

/// Frees what side messages needed once they are sent; with `wait`, waits for all of them.
void reap_side_messages(bool wait);

}  // namespace antiphon::mpi
