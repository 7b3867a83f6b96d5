// SPDX-License-Identifier: Apache-2.0
#include "compress/incoming.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "compress/cost.hpp"
#include "compress/damage.hpp"
#include "compress/device_messages.hpp"
#include "compress/framing.hpp"
#include "compress/losses.hpp"
#include "compress/mark.hpp"
#include "job/clock.hpp"
#include "job/devices.hpp"
#include "job/errors_return.hpp"

namespace antiphon::mpi {

namespace {

bool may_match(const Receive& receive, int source, int tag) {
  return (receive.wanted.peer == source || receive.wanted.peer == MPI_ANY_SOURCE) &&
         (receive.wanted.tag == tag || receive.wanted.tag == MPI_ANY_TAG);
}

/// Decodes earlier receives that could hold what is missing: messages of one channel must be decoded in their order,
/// but the program may ask for a later one first. Returns false if there is no such receive.
bool help_earlier(Messages& messages, std::uint64_t ticket, int source, int tag) {
  Receive* ready = nullptr;
  bool some = false;
  MPI_Status status{};
  int code = MPI_SUCCESS;
  {
    const std::lock_guard lock(messages.matching);
    // Where a receive has failed, MPICH tells these at each look. The program hears of it when it asks for the receive.
    const ErrorsReturn world_returns(MPI_COMM_WORLD);
    const ErrorsReturn self_returns(MPI_COMM_SELF);
    for (Receive* r : messages.under_way) {
      if (r->ticket >= ticket || r->state == Receive::State::finished || !may_match(*r, source, tag)) continue;
      some = true;
      if (r->state != Receive::State::posted || r->request == MPI_REQUEST_NULL) continue;
      int flag = 0;
      code = PMPI_Request_get_status(r->request, &flag, &status);
      if (flag == 0) continue;
      ready = r;
      ready->state = Receive::State::finishing;
      break;
    }
  }
  if (ready != nullptr) {
    ready->error = finish(*ready, status, code);
    ready->status = status;
    const std::lock_guard lock(messages.matching);
    ready->state = Receive::State::finished;
  } else if (some) {
    sched_yield();
  }
  return some;
}

struct Origin {
  Messages& messages;
  int source;
  int tag;
  std::uint64_t ticket;
};

codec::Error decode(const Origin& origin, codec::ConstBytes frame, codec::Bytes out) {
  InLink& link = origin.messages.from(origin.source);
  bool last_try = false;
  while (true) {
    codec::Error error;
    {
      const std::lock_guard lock(link.mutex);
      const std::int64_t before_ns = processor_ns();
      error = link.decoder.decode(frame, out);
      const std::int64_t spent_ns = processor_ns() - before_ns;
      link.counts.decode_ns += static_cast<std::uint64_t>(spent_ns);
      if (error == codec::Error::none) decoding_pace.note(static_cast<std::int64_t>(out.size()), spent_ns);
    }
    if (error == codec::Error::missing_reference && last_try) report_loss(origin.messages.world_rank(origin.source));
    if (error != codec::Error::missing_reference || last_try) return error;
    last_try = !help_earlier(origin.messages, origin.ticket, origin.source, origin.tag) &&
               !help_held(origin.messages, origin.ticket, origin.source, origin.tag);
  }
}

/// Holds the side messages that came before one with the same tag that was asked for, by sender and number.
class EarlySides {
 public:
  void put(int sender, const SideMessage& side) {
    const std::lock_guard lock(mutex_);
    sides_.emplace(std::pair(sender, side.number), side);
  }
  bool take(int sender, std::uint32_t number, SideMessage& side) {
    const std::lock_guard lock(mutex_);
    const auto found = sides_.find({sender, number});
    if (found == sides_.end()) return false;
    side = found->second;
    sides_.erase(found);
    return true;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<int, std::uint32_t>, SideMessage> sides_;
};

/// Receives a side message. Its tagged message may be the last of many that the program receives, so that others with
/// the same tag come first. No lock is held meanwhile, because a callback of the program may receive messages, too.
int receive_side(int sender, std::uint32_t number, SideMessage& side) {
  static auto& early = *new EarlySides;
  while (!early.take(sender, number, side)) {
    int there = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    int code = PMPI_Improbe(sender, side_tag(number), framing_state.side, &there, &message, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && there != 0) code = PMPI_Mrecv(&side, sizeof side, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return code;
    if (there == 0) sched_yield();
    else if (side.number == number) return MPI_SUCCESS;
    else early.put(sender, side);
  }
  return MPI_SUCCESS;
}

/// Restores the first bytes of a tagged message, which came in a side message.
int restore(const Origin& origin, std::byte* message, std::size_t bytes) {
  std::uint32_t number = 0;
  std::memcpy(&number, message + mark_bytes, sizeof number);
  SideMessage side;
  const int code = receive_side(origin.messages.world_rank(origin.source), number, side);
  if (code != MPI_SUCCESS) return code;
  std::memcpy(message, side.first, tagged_bytes);
  const bool keeps =
      std::any_of(std::begin(side.head), std::end(side.head), [](std::byte b) { return b != std::byte{0}; });
  if (!keeps) return MPI_SUCCESS;
  InLink& link = origin.messages.from(origin.source);
  const std::lock_guard lock(link.mutex);
  return link.decoder.decode(codec::ConstBytes(side.head, sizeof side.head), {message, bytes}, {message, bytes}) ==
                 codec::Error::none
             ? MPI_SUCCESS
             : MPI_ERR_OTHER;
}

/// Tells whether the first of several receives into one buffer may still find its frame there. If so, what arrives for
/// the others stays aside.
bool is_taken(const Receive& r) {
  if (!r.aside) return false;
  const std::lock_guard lock(r.messages->matching);
  const auto& others = r.messages->under_way;
  return std::any_of(others.begin(), others.end(), [&](const Receive* other) {
    return !other->is_elsewhere() && share_places(*other, r) && other->state != Receive::State::finished;
  });
}

/// Unpacks elements of the program's type to `to`; the last of them may be incomplete.
int unpack_bytes(const Receive& r, const std::byte* from, std::int64_t bytes, void* to) {
  if (bytes == 0) return MPI_SUCCESS;
  const MPI_Datatype own_type = r.own_type.get();
  const MPI_Datatype type = own_type != MPI_DATATYPE_NULL ? own_type : r.wanted.type;
  const std::int64_t whole = bytes / r.info.size_bytes;
  const std::int64_t rest = bytes % r.info.size_bytes;
  if (const int code = unpack(from, to, whole, type, r.info); code != MPI_SUCCESS || rest == 0) return code;
  // The rest of the last element keeps what the program has there.
  Buffer element(static_cast<std::size_t>(r.info.size_bytes));
  auto* const place = static_cast<std::byte*>(to) + whole * r.info.extent_bytes;
  if (const int code = pack(place, 1, type, r.info, element.data()); code != MPI_SUCCESS) return code;
  std::memcpy(element.data(), from + whole * r.info.size_bytes, static_cast<std::size_t>(rest));
  return unpack(element.data(), place, 1, type, r.info);
}

/// Does the same where the program's buffer is in a GPU's memory.
int unpack_to_device(const Receive& r, const std::byte* from, std::int64_t bytes) {
  if (bytes == 0) return MPI_SUCCESS;
  if (r.info.contiguous)
    return copy_with_device(r.wanted.buffer, from, static_cast<std::size_t>(bytes)) ? MPI_SUCCESS : MPI_ERR_OTHER;
  const std::int64_t elements = (bytes + r.info.size_bytes - 1) / r.info.size_bytes;
  const Buffer near = fetch_elements(r.wanted.buffer, elements, r.info);
  if (!near) return MPI_ERR_OTHER;
  const int code = unpack_bytes(r, from, bytes, elements_in(near, r.info));
  if (code != MPI_SUCCESS) return code;
  return put_elements(r.wanted.buffer, elements, r.info, near) ? MPI_SUCCESS : MPI_ERR_OTHER;
}

/// Copies the message from `data` to where the program wants it. If there is no room, cuts it and returns an error.
int put(Receive& r, const std::byte* data, std::int64_t bytes) {
  const std::int64_t fits = std::min(bytes, r.capacity_bytes);
  int code = MPI_SUCCESS;
  if (data != r.wanted.buffer && !is_taken(r)) {
    if (r.on_device) code = unpack_to_device(r, data, fits);
    else if (r.info.contiguous) std::memcpy(r.wanted.buffer, data, static_cast<std::size_t>(fits));
    else code = unpack_bytes(r, data, fits, r.wanted.buffer);
  }
  return code == MPI_SUCCESS && fits < bytes ? MPI_ERR_TRUNCATE : code;
}

int error_class(int code) {
  int result = MPI_ERR_OTHER;
  PMPI_Error_class(code, &result);
  return result;
}

/// Reports a frame that could not be decoded. If others build on it, they do not any more.
int failed(const Origin& origin, codec::Error error) {
  if (error == codec::Error::damaged) report_loss(origin.messages.world_rank(origin.source));
  const std::string channel = "rank " + std::to_string(origin.source) + ", tag " + std::to_string(origin.tag);
  return damaged_frame(origin.messages.comm(), channel, error);
}

}  // namespace

std::int64_t bytes_in(const MPI_Status& status) {
  MPI_Count bytes = 0;
  PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
  return bytes == MPI_UNDEFINED ? 0 : bytes;
}

namespace {

void set_bytes(MPI_Status& status, std::int64_t bytes) { PMPI_Status_set_elements_x(&status, MPI_BYTE, bytes); }

/// Puts the message where the program wants it, and its length into the status.
int put_all(Receive& r, const std::byte* data, std::int64_t bytes, MPI_Status& status) {
  const int code = put(r, data, bytes);
  set_bytes(status, std::min(bytes, r.capacity_bytes));
  return code;
}

/// Decodes a frame of `wire` bytes that lies in one piece at `arrived`.
int unframe(Receive& r, const Origin& origin, const std::byte* arrived, std::int64_t wire, MPI_Status& status) {
  const codec::ConstBytes here(arrived + mark_bytes, frame_length(arrived, static_cast<std::size_t>(wire)));
  const std::uint64_t raw = codec::raw_bytes(here);
  if (raw == codec::not_a_frame) return failed(origin, codec::Error::damaged);
  const bool in_place =
      r.info.contiguous && !r.aside && !r.on_device && static_cast<std::int64_t>(raw) <= r.capacity_bytes;
  Buffer copy;
  Buffer decoded;
  codec::ConstBytes frame = here;
  std::byte* target = nullptr;
  if (in_place) {
    if (!r.is_elsewhere()) {
      copy = Buffer(here.size());
      std::memcpy(copy.data(), here.data(), here.size());
      frame = {copy.data(), here.size()};
    }
    target = static_cast<std::byte*>(r.wanted.buffer);
  } else {
    decoded = Buffer(raw);
    target = decoded.data();
  }
  if (const codec::Error error = decode(origin, frame, {target, raw}); error != codec::Error::none)
    return failed(origin, error);
  return put_all(r, target, static_cast<std::int64_t>(raw), status);
}

/// Gathers into one piece what has arrived in places with gaps between them.
int collect(const Receive& r, std::int64_t bytes, Buffer& whole) {
  const std::int64_t elements = (bytes + r.info.size_bytes - 1) / r.info.size_bytes;
  whole = Buffer(static_cast<std::size_t>(elements * r.info.size_bytes));
  return pack(r.wanted.buffer, elements, r.wanted.type, r.info, whole.data());
}

int complete(Receive& r, MPI_Status& status, int code) {
  if (code == MPI_SUCCESS && r.state == Receive::State::finished) {
    const int kept = status.MPI_ERROR;  // only some calls set it
    status = r.status;
    status.MPI_ERROR = kept;
    return r.error;
  }
  int cancelled = 0;
  if (r.may_be_cancelled) PMPI_Test_cancelled(&status, &cancelled);
  if (cancelled != 0) return code;
  const std::int64_t wire = bytes_in(status);
  // A library that is only asked about a request tells of no truncation.
  if (code == MPI_SUCCESS && wire > r.capacity_bytes && !r.taken) code = MPI_ERR_TRUNCATE;
  auto* arrived = static_cast<std::byte*>(r.buffer());
  const Origin origin{*r.messages, status.MPI_SOURCE, status.MPI_TAG, r.ticket};
  if (code != MPI_SUCCESS) {
    if (error_class(code) == MPI_ERR_TRUNCATE && status.MPI_SOURCE >= 0)
      report_loss(r.messages->world_rank(status.MPI_SOURCE));
    if (r.is_elsewhere()) static_cast<void>(put(r, arrived, std::min(wire, r.capacity_bytes)));
    return code;
  }
  const bool may_be_marked = wire >= framing_state.least_frame_bytes && wire <= std::numeric_limits<int>::max();
  const bool scattered = !r.info.contiguous && !r.is_elsewhere();
  const Mark mark = may_be_marked ? mark_of(scattered ? arrived + r.info.layout->first_bytes : arrived) : Mark::none;
  if (mark == Mark::none || (mark == Mark::frame && !is_frame_length(wire)))
    return r.is_elsewhere() ? put_all(r, arrived, wire, status) : MPI_SUCCESS;
  Buffer whole;
  if (scattered) {
    if (const int failure = collect(r, wire, whole); failure != MPI_SUCCESS) return failure;
    arrived = whole.data();
  }
  if (mark == Mark::frame) return unframe(r, origin, arrived, wire, status);
  if (const int failure = restore(origin, arrived, static_cast<std::size_t>(wire)); failure != MPI_SUCCESS)
    return failure;
  return put_all(r, arrived, wire, status);
}

}  // namespace

int finish(Receive& r, MPI_Status& status, int code) {
  try {
    return complete(r, status, code);
  } catch (const std::bad_alloc&) {
    report_loss(r.messages->world_rank(status.MPI_SOURCE));
    return MPI_ERR_NO_MEM;
  }
}

void fill_status(MPI_Status& status, int source, int tag, std::int64_t bytes) {
  status.MPI_SOURCE = source;
  status.MPI_TAG = tag;
  set_bytes(status, bytes);
  PMPI_Status_set_cancelled(&status, 0);
}

int deliver(Receive& r, const Extracted& message, MPI_Status& status) {
  fill_status(status, message.source, message.tag, std::min(message.bytes, r.capacity_bytes));
  return message.error != MPI_SUCCESS ? message.error : put(r, message.data.data(), message.bytes);
}

void read_length(Messages& messages, Extracted& arrived) {
  const std::byte* const data = arrived.data.data();
  if (mark_of(data) != Mark::frame) return;
  const codec::ConstBytes frame(data + mark_bytes, frame_length(data, static_cast<std::size_t>(arrived.bytes)));
  const std::uint64_t raw = codec::raw_bytes(frame);
  if (raw != codec::not_a_frame) {
    arrived.bytes = static_cast<std::int64_t>(raw);
    return;
  }
  PMPI_Wait(&arrived.arriving, MPI_STATUS_IGNORE);
  arrived.error = failed({messages, arrived.source, arrived.tag, arrived.ticket}, codec::Error::damaged);
}

}  // namespace antiphon::mpi
