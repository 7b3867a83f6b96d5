// SPDX-License-Identifier: Apache-2.0
// A Receive lasts from the call that posts it until the message's bytes are in the program's buffer.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <list>
#include <memory>

#include "call/datatype.hpp"
#include "call/own_type.hpp"
#include "compress/messages.hpp"

namespace antiphon::mpi {

/// Holds the arguments of a receive.
struct ReceiveArguments {
  void* buffer = nullptr;
  std::int64_t count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int peer = MPI_ANY_SOURCE;
  int tag = MPI_ANY_TAG;
  MPI_Comm comm = MPI_COMM_NULL;
};

/// Describes a receive in which a frame may arrive.
struct Receive {
  std::shared_ptr<Messages> messages;
  ReceiveArguments wanted;
  TypeInfo info;
  std::int64_t capacity_bytes = 0;
  Buffer landing;          ///< where the message arrives, packed, if not in the program's buffer
  Buffer taken;            ///< where a message arrives that a probe has taken out of the library
  bool on_device = false;  ///< whether the program's buffer is in a GPU's memory
  bool aside = false;      ///< whether it lands elsewhere because an earlier receive has the same buffer
  std::int64_t post_count = 0;
  MPI_Datatype post_type;
  OwnType own_type;     ///< of a type without layout
  MPI_Request request;  ///< the library's request, while others may ask about it
  enum class State : std::uint8_t {
    posted,
    in_call,
    finishing,
    finished
  } state = State::posted;          ///< under messages.matching
  std::uint64_t ticket = 0;         ///< order of posting
  std::list<Receive*> place{this};  ///< holds the list element while the receive is not under way
  const std::list<Receive*>::iterator in_list = place.begin();
  bool listed = false;
  bool may_be_cancelled = false;  ///< whether the program has cancelled it
  MPI_Status status;              ///< with `error`: what the program gets when it is finished
  int error = MPI_SUCCESS;

  Receive() : post_type(MPI_BYTE), request(MPI_REQUEST_NULL) {}
  ~Receive();
  Receive(const Receive&) = delete;
  Receive& operator=(const Receive&) = delete;

  /// Returns the buffer for the library, which receives bytes because a frame does not consist of the program's
  /// elements.
  [[nodiscard]] void* buffer() const { return taken ? taken.data() : landing ? landing.data() : wanted.buffer; }
  /// Tells whether the message arrives elsewhere than in the program's buffer.
  [[nodiscard]] bool is_elsewhere() const { return landing || taken; }
  [[nodiscard]] std::int64_t count() const { return post_count; }
  [[nodiscard]] MPI_Datatype type() const { return post_type; }
};

/// Returns the communicator's messages; null if its messages are not framed, or the library will not take the receive.
Messages* messages_for(const ReceiveArguments& wanted);
/// Returns them only if a frame may arrive here, or the message may be one that a probe took out of the library. Even a
/// receive that is too small for a frame may match, or fail with, such a message.
Messages* may_need_look(const ReceiveArguments& wanted);
/// Returns a receive that is ready to be posted; null: call the library.
std::unique_ptr<Receive> expect(const ReceiveArguments& wanted, Messages& messages);
/// Does the same, but returns null also if the library's receive is enough.
std::unique_ptr<Receive> expect_if_needed(const ReceiveArguments& wanted);

/// Tells whether two receives fill the same places of one buffer, and not different parts of a grid.
bool share_places(const Receive& one, const Receive& other);
/// Gives the receive other memory if its buffer is in use; call it under messages.matching, before the receive is
/// posted. Programs that look at no data, such as measurements of rates, give one buffer to many receives at once.
/// Frames in it would spoil each other, so all but the first of them land elsewhere.
void keep_apart(Receive& receive);
/// Lists the receive that has been posted as this request; call it under messages.matching.
void list_receive(Receive& receive, MPI_Request request);
/// Does the same for one whose message has been taken out before, with that message's ticket.
void list_receive(Receive& receive, MPI_Request request, std::uint64_t ticket);
void unlist_receive(Receive& receive);

/// This datatype has many bytes, for landings with more bytes than an int can count. start_framing() makes it.
inline constexpr std::int64_t chunk_bytes = 1 << 20;
extern MPI_Datatype chunk_type;

/// Keeps other threads from asking about the request while a call of the library may complete it.
void enter_call(Receive& receive);
/// Ends that if the call has not completed the request.
void leave_call(Receive& receive);

/// Decodes and unpacks a receive that the library has completed with that status and code, and makes the status what
/// the program would see without frames. Returns the code for the program; the error handler does not know of codes
/// that differ.
int finish(Receive& receive, MPI_Status& status, int code);

/// Puts a decoded message into the program's buffer. Returns its error if it has one.
int deliver(Receive& receive, const Extracted& message, MPI_Status& status);

/// Makes the length of what has arrived that of the program's message, without decoding it.
void read_length(Messages& messages, Extracted& arrived);
/// Decodes the earliest message before this ticket that MPI_Mprobe or MPI_Improbe gave to the program, and that it has
/// not received yet. Returns false if there is none.
bool help_held(Messages& messages, std::uint64_t ticket, int source, int tag);

std::int64_t bytes_in(const MPI_Status& status);

/// Sets source, tag and length.
void fill_status(MPI_Status& status, int source, int tag, std::int64_t bytes);

}  // namespace antiphon::mpi
