// SPDX-License-Identifier: Apache-2.0
// A frame does not show the length of the program's message from outside. So a probe that finds one takes it out of the
// library, reads that length when it has arrived, and keeps it for the receive that will ask for it.
#include <sched.h>

#include <algorithm>
#include <limits>
#include <list>
#include <mutex>
#include <vector>

#include "compress/framed.hpp"
#include "compress/mark.hpp"
#include "compress/numbered.hpp"
#include "compress/starting.hpp"
#include "compress/tracked.hpp"

namespace antiphon::mpi {

namespace {

bool may_hold_frame(std::int64_t bytes) {
  return bytes >= framing_state.least_frame_bytes && bytes <= std::numeric_limits<int>::max();
}

bool is_frame_like(std::int64_t bytes) { return may_hold_frame(bytes) && is_frame_length(bytes); }

using Place = std::list<Extracted>::iterator;

/// Keeps a message that has been taken out, and begins to receive a frame. A frame is not waited for: its sender may be
/// outside MPI, and a probe has to answer at once.
Place keep(Messages& messages, MPI_Message matched, const MPI_Status& status) {
  messages.extracted_count.fetch_add(1, std::memory_order_relaxed);
  const Place place = messages.extracted.emplace(messages.extracted.end());
  *place = {status.MPI_SOURCE, status.MPI_TAG, bytes_in(status), Buffer(), messages.next_ticket++, true, matched};
  if (!is_frame_like(place->bytes)) return place;
  try {
    place->data = Buffer(static_cast<std::size_t>(place->bytes));
  } catch (const OutOfMemory&) {
    // The receive may still get the message, which the probe cannot tell the length of.
    return place->error = MPI_ERR_NO_MEM, place;
  }
  place->error = native::imrecv(place->data.data(), place->bytes, MPI_BYTE, &place->matched, &place->arriving);
  place->ready = place->error != MPI_SUCCESS;
  return place;
}

Extracted remove(Messages& messages, Place place) {
  Extracted message = std::move(*place);
  messages.extracted.erase(place);
  messages.extracted_count.fetch_sub(1, std::memory_order_relaxed);
  return message;
}

/// Takes the next message of a source with this tag out of the library, and before it all that the source has sent
/// earlier: a receive of any tag must find them first. Does nothing if another thread was faster.
int take_in_order(Messages& messages, int source, int tag) {
  while (true) {
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    int flag = 0;
    const int code = PMPI_Improbe(source, messages.tag_before(tag), messages.comm(), &flag, &message, &status);
    if (code != MPI_SUCCESS || flag == 0) return code;
    keep(messages, message, status);
    if (status.MPI_TAG == tag) return MPI_SUCCESS;
  }
}

bool contains(const std::vector<int>& sources, int source) {
  return std::find(sources.begin(), sources.end(), source) != sources.end();
}

/// Reads how long the messages of the frames that are there are. Each is decoded by its receive, because a message that
/// it builds on may not have been received.
void read_arrived(Messages& messages) {
  for (Extracted& m : messages.extracted) {
    if (m.ready) continue;
    int done = 0;
    MPI_Status status;
    m.error = PMPI_Request_get_status(m.arriving, &done, &status);
    if (m.error == MPI_SUCCESS && done != 0) read_length(messages, m);
    m.ready = done != 0 || m.error != MPI_SUCCESS;
  }
}

/// Finds the first message that a probe may report, and fills in its status. Its place is the end of the extracted ones
/// if the library has it. A message behind one of its source that is late waits for that.
int find(Messages& messages, int source, int tag, int* flag, MPI_Status* status, Place& place) {
  while (true) {
    read_arrived(messages);
    std::vector<int> late;
    for (place = messages.extracted.begin(); place != messages.extracted.end(); ++place) {
      if (!place->suits(source, tag) || contains(late, place->source)) continue;
      *flag = 1;
      if (place->ready) return fill_status(*status, place->source, place->tag, place->bytes), MPI_SUCCESS;
      late.push_back(place->source);
    }
    const int code = PMPI_Iprobe(source, tag, messages.comm(), flag, status);
    if (code != MPI_SUCCESS || *flag == 0) return code;
    if (!is_frame_like(bytes_in(*status)) && !contains(late, status->MPI_SOURCE)) return code;
    if (const int taken = take_in_order(messages, status->MPI_SOURCE, status->MPI_TAG); taken != MPI_SUCCESS)
      return taken;
  }
}

/// Works as MPI_Iprobe, for a message of the library or one that a probe took out.
int look(Messages& messages, int source, int tag, int* flag, MPI_Status* status) {
  std::unique_lock matching(messages.matching);
  Place place;
  const int code = find(messages, source, tag, flag, status, place);
  const bool extracted = code == MPI_SUCCESS && *flag != 0 && place != messages.extracted.end();
  const int error = extracted ? place->error : MPI_SUCCESS;
  matching.unlock();
  return code != MPI_SUCCESS ? code : report(error, MPI_SUCCESS, messages.comm());
}

/// Tells whether a message that a probe would report is on its way, out of the library's sight.
bool is_late(Messages& messages, int source, int tag) {
  const std::lock_guard matching(messages.matching);
  return std::any_of(messages.extracted.begin(), messages.extracted.end(),
                     [&](const Extracted& m) { return !m.ready && m.suits(source, tag); });
}

/// Waits until it may be useful to look again. A single thread can wait in the library, because nothing else can take
/// the message.
int wait_for_news(Messages& messages, int source, int tag) {
  if (framing_state.threads || is_late(messages, source, tag)) return sched_yield(), MPI_SUCCESS;
  MPI_Status waited;  // a library may set the error field, which a matched probe must not change
  return PMPI_Probe(source, tag, messages.comm(), &waited);
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
  Place place;
  do {
    int code = find(messages, source, tag, flag, status, place);
    if (code != MPI_SUCCESS || *flag == 0) return code;
    if (place == messages.extracted.end()) {
      code = PMPI_Improbe(status->MPI_SOURCE, status->MPI_TAG, messages.comm(), flag, message, status);
      // The program's own receive would not see that the beginning of a long one travels apart.
      if (code != MPI_SUCCESS || *flag == 0 || !may_hold_frame(bytes_in(*status))) return code;
      place = keep(messages, *message, *status);
    }
  } while (!place->ready);
  Extracted found = remove(messages, place);
  matching.unlock();
  const int error = found.error;
  const int code = hold(messages, std::move(found), message);
  return report(error != MPI_SUCCESS ? error : code, MPI_SUCCESS, messages.comm());
}

/// Returns null if the probe is the library's alone.
Messages* framed_messages(int source, int tag, MPI_Comm comm) {
  Messages* const messages = source == MPI_PROC_NULL ? nullptr : Messages::of(comm);
  return messages != nullptr && messages->may_bring(source, tag) ? messages : nullptr;
}

}  // namespace

bool help_held(Messages& messages, std::uint64_t ticket, int source, int tag) {
  if (framing_state.threads) return false;  // then no message builds on another
  Extracted* first = nullptr;
  const auto look_at = [&](Held& h) {
    Extracted& m = h.message;
    if (h.messages.get() != &messages || m.source != source || m.tag != tag || m.ticket >= ticket) return;
    if (m.is_decoded() || !may_hold_frame(m.bytes)) return;
    if (first == nullptr || m.ticket < first->ticket) first = &m;
  };
  held.each(look_at);
  if (first != nullptr) receive_early(messages, *first);
  return first != nullptr;
}

namespace framed {

int iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  const TendAfter tend;
  Messages* messages = framed_messages(source, tag, comm);
  if (messages == nullptr) return PMPI_Iprobe(source, tag, comm, flag, status);
  return look(*messages, source, tag, flag, status);
}

int probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  Messages* messages = framed_messages(source, tag, comm);
  if (messages == nullptr) return PMPI_Probe(source, tag, comm, status);
  int flag = 0;
  while (true) {
    if (const int code = iprobe(source, tag, comm, &flag, status); code != MPI_SUCCESS || flag != 0) return code;
    if (const int code = wait_for_news(*messages, source, tag); code != MPI_SUCCESS) return code;
  }
}

int improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
  const TendAfter tend;
  Messages* messages = framed_messages(source, tag, comm);
  if (messages == nullptr) return PMPI_Improbe(source, tag, comm, flag, message, status);
  return match(*messages, source, tag, flag, message, status);
}

int mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  Messages* messages = framed_messages(source, tag, comm);
  if (messages == nullptr) return PMPI_Mprobe(source, tag, comm, message, status);
  int flag = 0;
  while (true) {
    const int code = improbe(source, tag, comm, &flag, message, status);
    if (code != MPI_SUCCESS || flag != 0) return code;
    if (const int failure = wait_for_news(*messages, source, tag); failure != MPI_SUCCESS) return failure;
  }
}

int mrecv(void* buf, std::int64_t count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  const TendAfter tend;
  Held mine;
  if (!let_go(*message, mine)) return native::mrecv(buf, count, type, message, status);
  *message = MPI_MESSAGE_NULL;
  const ReceiveArguments wanted{buf, count, type, mine.message.source, mine.message.tag, mine.messages->comm()};
  return guarded(wanted.comm, [&] {
    auto receive = expect(wanted, *mine.messages);
    if (!receive) return report(MPI_ERR_TYPE, MPI_SUCCESS, wanted.comm);
    return receive_extracted(*receive, std::move(mine.message), status);
  });
}

int imrecv(void* buf, std::int64_t count, MPI_Datatype type, MPI_Message* message, MPI_Request* request) {
  Held mine;
  if (!let_go(*message, mine)) return native::imrecv(buf, count, type, message, request);
  *message = MPI_MESSAGE_NULL;
  const ReceiveArguments wanted{buf, count, type, mine.message.source, mine.message.tag, mine.messages->comm()};
  return guarded(wanted.comm, [&] {
    auto receive = expect(wanted, *mine.messages);
    if (!receive) return report(MPI_ERR_TYPE, MPI_SUCCESS, wanted.comm);
    std::unique_lock matching(mine.messages->matching);
    const int result = begin_extracted(*receive, matching, std::move(mine.message), request);
    if (result == MPI_SUCCESS) track_receive(std::move(receive), *request);
    return result;
  });
}

bool is_own_message(MPI_Message message) {
  return held_count.load(std::memory_order_relaxed) != 0 && number_of(message) != 0;
}
int own_message_to_fortran(MPI_Message message) { return -number_of(message); }
MPI_Message own_message_from_fortran(int message) { return handle_of(-message); }

}  // namespace framed
}  // namespace antiphon::mpi
