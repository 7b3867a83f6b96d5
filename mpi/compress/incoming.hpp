// SPDX-License-Identifier: Apache-2.0
// A receive, from the call that posts it to the message's bytes in the program's buffer.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <list>
#include <memory>

#include "call/datatype.hpp"
#include "compress/messages.hpp"

namespace antiphon::mpi {

/// The arguments of a receive.
struct ReceiveArguments {
  void* buffer = nullptr;
  std::int64_t count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int peer = MPI_ANY_SOURCE;
  int tag = MPI_ANY_TAG;
  MPI_Comm comm = MPI_COMM_NULL;
};

/// A receive that a frame may arrive in.
struct Receive {
  std::shared_ptr<Messages> messages;
  ReceiveArguments wanted;
  TypeInfo info;
  std::int64_t capacity_bytes = 0;
  Buffer landing;      ///< where the message arrives, packed, if not in the program's buffer
  bool aside = false;  ///< because an earlier receive has the same buffer
  std::int64_t post_count = 0;
  MPI_Datatype post_type;
  MPI_Datatype
      own_type;  ///< a duplicate of a type without layout, which the program may free before the message is here
  bool has_own_type = false;
  MPI_Request request;  ///< as the library knows it, while it may be asked about it
  enum class State : std::uint8_t {
    posted,
    in_call,
    finishing,
    finished
  } state = State::posted;          ///< under messages.matching
  std::uint64_t ticket = 0;         ///< order of posting
  std::list<Receive*> place{this};  ///< its element in the list of those under way, while it is not there
  const std::list<Receive*>::iterator in_list = place.begin();
  bool listed = false;
  bool may_be_cancelled = false;  ///< the program has asked for that
  MPI_Status status;              ///< with `error`: what the program will be told, once finished
  int error = MPI_SUCCESS;

  Receive() : post_type(MPI_BYTE), own_type(MPI_DATATYPE_NULL), request(MPI_REQUEST_NULL) {}
  ~Receive();
  Receive(const Receive&) = delete;
  Receive& operator=(const Receive&) = delete;

  /// What to hand to the library: bytes, as a frame is not made of the program's elements.
  [[nodiscard]] void* buffer() const { return landing ? landing.data() : wanted.buffer; }
  [[nodiscard]] std::int64_t count() const { return post_count; }
  [[nodiscard]] MPI_Datatype type() const { return post_type; }
};

/// The communicator's messages, if a frame may arrive here at all; else null.
Messages* may_bring_frame(const ReceiveArguments& wanted);
/// If so, a receive that is ready to be posted. Null: call the library.
std::unique_ptr<Receive> expect(const ReceiveArguments& wanted);
/// The same, for a receive whose message is known to have been taken out of the library already.
std::unique_ptr<Receive> expect_extracted(const ReceiveArguments& wanted, Messages& messages);

/// Under messages.matching, before the receive is posted: programs that look at no data, like measurements of rates,
/// give one buffer to many receives at once. Frames in it would spoil each other, so all but the first of them land
/// elsewhere.
void keep_apart(Receive& receive);
/// Under messages.matching: the receive is being posted now.
void list_receive(Receive& receive);
void unlist_receive(Receive& receive);

/// A datatype of many bytes, for landings whose bytes an int cannot count. Made in start_framing().
inline constexpr std::int64_t chunk_bytes = 1 << 20;
extern MPI_Datatype chunk_type;

/// Around a call of the library that may complete the request: nobody else asks about it meanwhile.
void enter_call(Receive& receive);
/// It was not completed.
void leave_call(Receive& receive);

/// The library has completed the receive with that status and code: decodes, unpacks, and makes the status what the
/// program would see without frames. Returns the code for the program; the error handler has not been called for codes
/// that differ.
int finish(Receive& receive, MPI_Status& status, int code);

/// Puts a message that was taken out of the library into the program's buffer.
int deliver(Receive& receive, const Extracted& message, MPI_Status& status);

/// Decodes what has arrived in `wire` (W bytes) from that peer, whatever it is. Returns the program's message and its
/// length; the buffer may be the same.
Extracted extract(Messages& messages, Buffer wire, std::int64_t bytes, int source, int tag, int& code);

std::int64_t bytes_in(const MPI_Status& status);

/// Sets source, tag and length.
void fill_status(MPI_Status& status, int source, int tag, std::int64_t bytes);

}  // namespace antiphon::mpi
