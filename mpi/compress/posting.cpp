// SPDX-License-Identifier: Apache-2.0
// How receives are posted in which a frame may arrive.
#include <sched.h>

#include <limits>
#include <mutex>

#include "compress/framing.hpp"
#include "compress/incoming.hpp"
#include "job/devices.hpp"

namespace antiphon::mpi {

namespace {

/// Says whether the library takes messages that are not a whole number of elements; then frames may arrive in places
/// with gaps. MPICH does not, and it makes types of single bytes so slowly that landing in other memory is better.
#if ANTIPHON_ABI_OPENMPI
constexpr bool takes_parts_of_elements = true;
#else
constexpr bool takes_parts_of_elements = false;
#endif

bool is_large(const Receive& r) { return r.capacity_bytes > std::numeric_limits<int>::max(); }

/// Describes the receive as bytes. If an int cannot count them and the library has no larger counts, describes it as
/// chunks or, in place, as the program did.
void describe_post(Receive& r) {
  const bool as_bytes = r.landing || r.info.contiguous;
  r.post_count = as_bytes ? r.capacity_bytes : r.wanted.count;
  r.post_type = as_bytes ? MPI_BYTE : r.wanted.type;
#if !ANTIPHON_HAS_LARGE_COUNT
  if (!is_large(r)) return;
  r.post_count = r.landing ? (r.capacity_bytes + chunk_bytes - 1) / chunk_bytes : r.wanted.count;
  r.post_type = r.landing ? chunk_type : r.wanted.type;
#endif
}

/// Makes the message arrive in memory of Antiphon's own.
void land(Receive& r) {
  r.landing = Buffer(static_cast<std::size_t>(
      is_large(r) ? (r.capacity_bytes + chunk_bytes - 1) / chunk_bytes * chunk_bytes : r.capacity_bytes));
}

}  // namespace

bool share_places(const Receive& one, const Receive& other) {
  if (one.wanted.buffer != other.wanted.buffer) return false;
  return (one.info.contiguous && other.info.contiguous) || one.wanted.type == other.wanted.type;
}

Receive::~Receive() { unlist_receive(*this); }

Messages* messages_for(const ReceiveArguments& wanted) {
  if (wanted.count < 0 || wanted.peer == MPI_PROC_NULL || wanted.type == MPI_DATATYPE_NULL) return nullptr;
  Messages* const messages = Messages::of(wanted.comm);
  return messages != nullptr && messages->may_bring(wanted.peer, wanted.tag) ? messages : nullptr;
}

Messages* may_need_look(const ReceiveArguments& wanted) {
  Messages* const messages = messages_for(wanted);
  // Another thread's probe may be taking the message out just now: only under `matching` is it known where it is.
  if (messages == nullptr || framing_state.threads) return messages;
  if (messages->extracted_count.load(std::memory_order_relaxed) != 0) return messages;
  int size = 0;
  if (PMPI_Type_size(wanted.type, &size) != MPI_SUCCESS) return nullptr;
  return size < 0 || size * wanted.count >= framing_state.least_frame_bytes ? messages : nullptr;
}

std::unique_ptr<Receive> expect(const ReceiveArguments& wanted, Messages& messages) {
  auto r = std::make_unique<Receive>();
  if (wanted.count < 0 || !inspect(wanted.type, r->info)) return nullptr;
  r->capacity_bytes = wanted.count * r->info.size_bytes;
  r->on_device = is_device_memory(wanted.buffer);
  r->messages = messages.shared_from_this();
  r->wanted = wanted;
  const bool regular = r->info.contiguous || (r->info.layout && wanted.buffer != MPI_BOTTOM);
  if (!regular) r->own_type = OwnType(wanted.type);
  if (r->capacity_bytes >= framing_state.least_frame_bytes) {
    if (wanted.buffer == nullptr && r->info.contiguous) return nullptr;
    const bool frames_fit = r->info.contiguous || (regular && takes_parts_of_elements);
    if (r->on_device || !frames_fit) land(*r);
  }
  describe_post(*r);
  return r;
}

std::unique_ptr<Receive> expect_if_needed(const ReceiveArguments& wanted) {
  Messages* const messages = may_need_look(wanted);
  return messages != nullptr ? expect(wanted, *messages) : nullptr;
}

MPI_Datatype chunk_type;

void keep_apart(Receive& r) {
  constexpr int looked_at = 64;
  if (r.aside) r.landing.reset();  // from the previous start of a persistent receive
  r.aside = false;
  r.taken.reset();
  if (r.landing || is_large(r)) return;
  const auto& others = r.messages->under_way;
  int left = looked_at;
  for (auto other = others.rbegin(); other != others.rend() && left-- > 0 && !r.aside; ++other) {
    r.aside = share_places(**other, r);
  }
  if (r.aside) land(r);
  describe_post(r);
}

void list_receive(Receive& r, MPI_Request request) { list_receive(r, request, r.messages->next_ticket++); }

void list_receive(Receive& r, MPI_Request request, std::uint64_t ticket) {
  r.state = Receive::State::posted;
  r.request = request;
  r.ticket = ticket;
  r.messages->under_way.splice(r.messages->under_way.end(), r.place);
  r.listed = true;
}

void unlist_receive(Receive& r) {
  if (!r.listed) return;
  const std::lock_guard lock(r.messages->matching);
  r.place.splice(r.place.end(), r.messages->under_way, r.in_list);
  r.listed = false;
}

void enter_call(Receive& r) {
  std::unique_lock lock(r.messages->matching);
  while (r.state == Receive::State::finishing) {
    lock.unlock();
    sched_yield();
    lock.lock();
  }
  if (r.state == Receive::State::posted) r.state = Receive::State::in_call;
}

void leave_call(Receive& r) {
  const std::lock_guard lock(r.messages->matching);
  if (r.state == Receive::State::in_call) r.state = Receive::State::posted;
}

}  // namespace antiphon::mpi
