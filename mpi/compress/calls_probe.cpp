// SPDX-License-Identifier: Apache-2.0
// A frame does not show the length of the program's message from outside. So a probe that finds one takes it out of the
// library, decodes it, and keeps it for the receive that will ask for it.
#include <sched.h>

#include <limits>
#include <list>
#include <mutex>

#include "compress/framed.hpp"
#include "compress/mark.hpp"
#include "compress/numbered.hpp"
#include "compress/starting.hpp"
#include "compress/tracked.hpp"

namespace antiphon::mpi {

namespace {

bool may_hold_frame(std::int64_t bytes) {
  return bytes >= framing_state.threshold_bytes && bytes <= std::numeric_limits<int>::max();
}

bool same(const Extracted& m, int source, int tag) {
  return (source == MPI_ANY_SOURCE || m.source == source) && (tag == MPI_ANY_TAG || m.tag == tag);
}

std::list<Extracted>::iterator add(Messages& messages, Extracted message) {
  messages.extracted_count.fetch_add(1, std::memory_order_relaxed);
  return messages.extracted.insert(messages.extracted.end(), std::move(message));
}

/// Decodes a message into its place among the extracted ones, and returns its error. `matching` protects the insertion
/// and is released while decoding.
int extract_into(Messages& messages, std::unique_lock<Mutex>& matching, Buffer wire, std::int64_t bytes,
                 MPI_Status& status) {
  const auto place = add(messages, {status.MPI_SOURCE, status.MPI_TAG, bytes, Buffer(), false});
  matching.unlock();
  Extracted decoded = extract(messages, std::move(wire), bytes, status.MPI_SOURCE, status.MPI_TAG);
  fill_status(status, decoded.source, decoded.tag, decoded.bytes);
  const int code = decoded.error;
  matching.lock();
  *place = std::move(decoded);
  return code;
}

bool is_frame_like(std::int64_t bytes) { return may_hold_frame(bytes) && is_frame_length(bytes); }

/// Takes the next message of a source with this tag out of the library, and before it all that the source has sent
/// earlier: a receive of any tag must find them first. Sets `found` unless another thread was faster.
int take_in_order(Messages& messages, std::unique_lock<Mutex>& matching, int source, int tag, bool& found,
                  MPI_Status& status) {
  while (true) {
    MPI_Message message = MPI_MESSAGE_NULL;
    int flag = 0;
    if (const int code = PMPI_Improbe(source, MPI_ANY_TAG, messages.comm(), &flag, &message, &status);
        code != MPI_SUCCESS || flag == 0)
      return code;
    const std::int64_t bytes = bytes_in(status);
    found = status.MPI_TAG == tag;
    if (!is_frame_like(bytes)) {
      add(messages, {source, status.MPI_TAG, bytes, Buffer(), true, message});
      if (found) return MPI_SUCCESS;
      continue;
    }
    Buffer wire;
    if (const int code = receive_matched(&message, bytes, wire); code != MPI_SUCCESS) return code;
    const int code = extract_into(messages, matching, std::move(wire), bytes, status);
    if (found) return report(code, MPI_SUCCESS, messages.comm());
  }
}

/// Tells whether a message is there, and takes it out if it is a frame.
int look(Messages& messages, int source, int tag, int* flag, MPI_Status* status) {
  std::unique_lock matching(messages.matching);
  while (true) {
    for (const Extracted& m : messages.extracted) {
      if (!m.ready || !same(m, source, tag)) continue;
      fill_status(*status, m.source, m.tag, m.bytes);
      *flag = 1;
      return MPI_SUCCESS;
    }
    const int code = PMPI_Iprobe(source, tag, messages.comm(), flag, status);
    const std::int64_t bytes = code == MPI_SUCCESS && *flag != 0 ? bytes_in(*status) : 0;
    if (!is_frame_like(bytes)) return code;
    bool found = false;
    const int taken = take_in_order(messages, matching, status->MPI_SOURCE, status->MPI_TAG, found, *status);
    if (taken != MPI_SUCCESS || found) return taken;
  }
}

/// Holds the messages that MPI_Mprobe or MPI_Improbe gave to the program, by their number.
struct Held {
  std::shared_ptr<Messages> messages;
  Extracted message;
};
constexpr int most_held = 0xffffff;  // MPICH's handles of a kind have 24 bits for an object's number
std::mutex held_mutex;
Numbered<Held> held(most_held);
std::atomic<int> held_count{0};

#if ANTIPHON_ABI_MPICH
constexpr int handle_base = 0x05000000;  // MPICH has no handle of this kind
MPI_Message handle_of(int number) { return handle_base + number; }
int number_of(MPI_Message message) {
  return message > handle_base && message <= handle_base + most_held ? message - handle_base : 0;
}
#else
/// These addresses are odd, so no object of a library has them.
MPI_Message handle_of(int number) {
  return reinterpret_cast<MPI_Message>(static_cast<std::uintptr_t>(number) << 16 | 0xa5b1);
}
int number_of(MPI_Message message) {
  const auto value = reinterpret_cast<std::uintptr_t>(message);
  return (value & 0xffff) == 0xa5b1 ? static_cast<int>(value >> 16) : 0;
}
#endif

/// Stores the handle of the held message; returns an MPI error code if a program holds 16 million of them.
int hold(Messages& messages, Extracted message, MPI_Message* handle) {
  const std::lock_guard lock(held_mutex);
  const int number = held.put({messages.shared_from_this(), std::move(message)});
  if (number == 0) return MPI_ERR_OTHER;
  held_count.store(static_cast<int>(held.size()), std::memory_order_relaxed);
  *handle = handle_of(number);
  return MPI_SUCCESS;
}

/// Returns true, and releases the message, if it is one that is held.
bool let_go(MPI_Message message, Held& out) {
  if (held_count.load(std::memory_order_relaxed) == 0) return false;
  const int number = number_of(message);
  const std::lock_guard lock(held_mutex);
  if (!held.take(number, out)) return false;
  held_count.store(static_cast<int>(held.size()), std::memory_order_relaxed);
  return true;
}

/// Works as MPI_Improbe, for a message of the library or one that a probe took out.
int match(Messages& messages, int source, int tag, int* flag, MPI_Message* message, MPI_Status* status) {
  std::unique_lock matching(messages.matching);
  Extracted extracted;
  if (take_extracted(messages, matching, source, tag, extracted)) {
    matching.unlock();
    fill_status(*status, extracted.source, extracted.tag, extracted.bytes);
    *flag = 1;
    return hold(messages, std::move(extracted), message);
  }
  int code = PMPI_Improbe(source, tag, messages.comm(), flag, message, status);
  const std::int64_t bytes = code == MPI_SUCCESS && *flag != 0 ? bytes_in(*status) : 0;
  if (code != MPI_SUCCESS || *flag == 0 || !may_hold_frame(bytes)) return code;
  matching.unlock();
  Buffer wire;
  code = receive_matched(message, bytes, wire);
  if (code != MPI_SUCCESS) return code;
  extracted = extract(messages, std::move(wire), bytes, status->MPI_SOURCE, status->MPI_TAG);
  fill_status(*status, extracted.source, extracted.tag, extracted.bytes);
  code = extracted.error;
  const int held_code = hold(messages, std::move(extracted), message);
  return report(code != MPI_SUCCESS ? code : held_code, MPI_SUCCESS, messages.comm());
}

Messages* framed_messages(int source, MPI_Comm comm) { return source == MPI_PROC_NULL ? nullptr : Messages::of(comm); }

}  // namespace

namespace framed {

int iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  const TendAfter tend;
  Messages* messages = framed_messages(source, comm);
  if (messages == nullptr) return PMPI_Iprobe(source, tag, comm, flag, status);
  return look(*messages, source, tag, flag, status);
}

int probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  Messages* messages = framed_messages(source, comm);
  if (messages == nullptr) return PMPI_Probe(source, tag, comm, status);
  int flag = 0;
  while (true) {
    if (const int code = iprobe(source, tag, comm, &flag, status); code != MPI_SUCCESS || flag != 0) return code;
    // A single thread can wait in the library, because nothing else can take the message.
    if (!framing_state.threads) {
      if (const int code = PMPI_Probe(source, tag, comm, status); code != MPI_SUCCESS) return code;
    } else {
      sched_yield();
    }
  }
}

int improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
  const TendAfter tend;
  Messages* messages = framed_messages(source, comm);
  if (messages == nullptr) return PMPI_Improbe(source, tag, comm, flag, message, status);
  return match(*messages, source, tag, flag, message, status);
}

int mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  Messages* messages = framed_messages(source, comm);
  if (messages == nullptr) return PMPI_Mprobe(source, tag, comm, message, status);
  int flag = 0;
  while (true) {
    const int code = improbe(source, tag, comm, &flag, message, status);
    if (code != MPI_SUCCESS || flag != 0) return code;
    if (!framing_state.threads) {
      MPI_Status waited;  // a library may set the error field, which a matched probe must not change
      if (const int failure = PMPI_Probe(source, tag, comm, &waited); failure != MPI_SUCCESS) return failure;
    } else {
      sched_yield();
    }
  }
}

int mrecv(void* buf, std::int64_t count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  const TendAfter tend;
  Held mine;
  if (!let_go(*message, mine)) return native::mrecv(buf, count, type, message, status);
  *message = MPI_MESSAGE_NULL;
  const ReceiveArguments wanted{buf, count, type, mine.message.source, mine.message.tag, mine.messages->comm()};
  auto receive = expect_extracted(wanted, *mine.messages);
  if (!receive) return report(MPI_ERR_TYPE, MPI_SUCCESS, wanted.comm);
  return report(deliver(*receive, std::move(mine.message), *status), MPI_SUCCESS, wanted.comm);
}

int imrecv(void* buf, std::int64_t count, MPI_Datatype type, MPI_Message* message, MPI_Request* request) {
  Held mine;
  if (!let_go(*message, mine)) return native::imrecv(buf, count, type, message, request);
  *message = MPI_MESSAGE_NULL;
  const ReceiveArguments wanted{buf, count, type, mine.message.source, mine.message.tag, mine.messages->comm()};
  auto receive = expect_extracted(wanted, *mine.messages);
  if (!receive) return report(MPI_ERR_TYPE, MPI_SUCCESS, wanted.comm);
  *request = track_delivered(std::move(receive), std::move(mine.message));
  return MPI_SUCCESS;
}

bool is_own_message(MPI_Message message) {
  return held_count.load(std::memory_order_relaxed) != 0 && number_of(message) != 0;
}
int own_message_to_fortran(MPI_Message message) { return -number_of(message); }
MPI_Message own_message_from_fortran(int message) { return handle_of(-message); }

}  // namespace framed
}  // namespace antiphon::mpi
