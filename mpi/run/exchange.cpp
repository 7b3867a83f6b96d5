// SPDX-License-Identifier: Apache-2.0
#include "run/exchange.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "antiphon/error.hpp"
#include "job/error_text.hpp"
#include "job/progress.hpp"

namespace antiphon::mpi {

namespace {

constexpr std::size_t first_room = 64;  ///< for requests; it doubles when they need more

/// Returns the most bytes that one message carries.
std::int64_t longest_data(const CreditLimits& limits) { return std::max(limits.piece_bytes, limits.short_bytes); }

}  // namespace

Exchange::Exchange(MPI_Comm comm, int rank, int size, const Options& options)
    : Runner(options.yields), protocol_(rank, size, options.limits), comm_(comm), first_tag_(options.first_tag),
      least_patience_s_(options.patience_s), encode_bytes_(options.encode_bytes),
      coder_(encode_bytes_ > 0 ? longest_data(options.limits) : 0, comm, options.coding),
      slot_bytes_(static_cast<std::size_t>(longest_data(options.limits) + encoded_overhead_bytes)) {}

int Exchange::begin(const Binding& binding) {
  binding_ = &binding;
  input_ = binding.at(Space::input);
  output_ = binding.at(Space::output);
  let_go();
  stalled_ = false;
  failure_ = MPI_SUCCESS;
  library_finished_ = false;
  patience_.begin(std::max(least_patience_s_, way_.patience_s));
  protocol_.reset(problem_->send_bytes, problem_->recv_bytes, way_.steps, way_.in_step);
  const int rc = start_all();
  copy_own_block();
  return rc;
}

/// Leaves what is still under way after an error to itself, with the memory that it uses.
void Exchange::let_go() {
  if (!any_under_way()) return;
  requests_.forget_all();
  static_cast<void>(new auto(std::exchange(grants_, {})));
  static_cast<void>(new auto(std::exchange(slots_, {})));
  free_grants_.clear();
  free_slots_.clear();
}

void Exchange::copy_own_block() const {
  const Range from = problem_->input_block(problem_->rank);
  const Range to = problem_->output_block(problem_->rank);
  if (to.bytes > 0)
    std::memmove(output_ + to.offset_bytes, input_ + from.offset_bytes, static_cast<std::size_t>(to.bytes));
}

int Exchange::go_on(Waiting& waiting) {
  if (encode_bytes_ == 0 && protocol_.all_started() && waiting.may_block(requests_.active())) {
    library_finished_ = true;
    const int rc = requests_.wait_for_all();
    if (rc == MPI_SUCCESS) requests_.forget_all();
    return rc;
  }
  while (!done()) {
    waiting.note_library_look();
    if (const int rc = requests_.test(); rc != MPI_SUCCESS) return rc;
    const bool moved = requests_.any_ended();
    if (moved) {
      patience_.note_move();
      note_frame_lengths();
      const int rc = requests_.retire([this](const Owner& owner) { return finish(owner); });
      if (rc != MPI_SUCCESS) return rc;
    } else {
      look_at_clock();
    }
    if (const int rc = start_all(); rc != MPI_SUCCESS || !moved) return rc;
  }
  return failure_;
}

/// Notes the length of each frame that has come in its slot.
void Exchange::note_frame_lengths() {
  if (encode_bytes_ == 0) return;
  requests_.each_status([](const Owner& owner, const MPI_Status& status) {
    using Kind = CreditExchange::Kind;
    if (owner.slot == nullptr || (owner.action.kind != Kind::recv_short && owner.action.kind != Kind::recv_piece))
      return;
    int received_bytes = 0;
    PMPI_Get_count(&status, MPI_BYTE, &received_bytes);
    slot::set_frame_length(owner.slot, received_bytes);
  });
}

int Exchange::finish(const Owner& owner) {
  if (owner.slot != nullptr) {
    if (const int rc = take_frame(owner); rc != MPI_SUCCESS) return rc;
  }
  try {
    protocol_.complete(owner.action, owner.grant != nullptr ? *owner.grant : 0);
  } catch (const FormatError& e) {
    return error_of_counts(e.what());
  }
  if (owner.grant != nullptr) free_grants_.push_back(owner.grant);
  return MPI_SUCCESS;
}

/// Decodes a frame that has come; one that was sent is only done with.
int Exchange::take_frame(const Owner& owner) {
  free_slots_.push_back(owner.slot);
  using Kind = CreditExchange::Kind;
  const Action& action = owner.action;
  if (action.kind != Kind::recv_short && action.kind != Kind::recv_piece) return MPI_SUCCESS;
  // Other ranks count on this one's messages, so the exchange goes on, and fails at its end.
  const int rc = coder_.decode(place_of(action), owner.slot, comm_, action.peer);
  if (failure_ == MPI_SUCCESS) failure_ = rc;
  protocol_.note_received_as(action.peer, action.bytes, slot::frame_length(owner.slot));
  return MPI_SUCCESS;
}

/// A rank in step for which nothing moves becomes free when its patience ends.
void Exchange::look_at_clock() {
  if (!protocol_.in_step() || !patience_.ends()) return;
  protocol_.lose_patience();
  stalled_ = true;
}

int Exchange::start_all() {
  Action action;
  while (protocol_.next(action)) {
    if (const int rc = start(action); rc != MPI_SUCCESS) return rc;
  }
  return MPI_SUCCESS;
}

int Exchange::start(const Action& action) {
  if (requests_.active() == requests_.room())
    requests_.reserve(std::max(first_room, 2 * requests_.room()), encode_bytes_ > 0);
  using Kind = CreditExchange::Kind;
  switch (action.kind) {
    case Kind::recv_short:
    case Kind::recv_piece: return start_data(action, false);
    case Kind::send_short:
    case Kind::send_piece: return start_data(action, true);
    case Kind::recv_grant: return start_grant(action, false);
    case Kind::send_grant: return start_grant(action, true);
  }
  return MPI_ERR_INTERN;
}

std::span<const std::byte> Exchange::data_to_send(const Action& action) const {
  const std::int64_t block = problem_->send_offsets[static_cast<std::size_t>(action.peer)];
  return {input_ + block + action.offset_bytes, static_cast<std::size_t>(action.bytes)};
}

std::span<std::byte> Exchange::place_of(const Action& action) const {
  const std::int64_t block = problem_->recv_offsets[static_cast<std::size_t>(action.peer)];
  return {output_ + block + action.offset_bytes, static_cast<std::size_t>(action.bytes)};
}

int Exchange::start_data(const Action& action, bool sends) {
  if (sends) note_messages();
  if (is_encoded(action)) return start_frame(action, sends);
  const auto count = static_cast<int>(action.bytes);
  const int rc =
      sends ? PMPI_Isend(data_to_send(action).data(), count, MPI_BYTE, action.peer, first_tag_, comm_, requests_.next())
            : PMPI_Irecv(place_of(action).data(), count, MPI_BYTE, action.peer, first_tag_, comm_, requests_.next());
  if (rc == MPI_SUCCESS) requests_.add({action, nullptr, nullptr});
  return rc;
}

int Exchange::start_frame(const Action& action, bool sends) {
  std::byte* const slot = new_slot();
  std::byte* const frame = slot + slot::length_bytes;
  int rc = MPI_SUCCESS;
  if (sends) {
    const bool last = action.bytes < protocol_.limits().piece_bytes;
    rc = coder_.encode(slot, data_to_send(action), last, *binding_);
    if (rc != MPI_SUCCESS) return rc;
    const std::int64_t length = slot::frame_length(slot);
    protocol_.note_sent_as(action.bytes, length);
    rc = PMPI_Isend(frame, static_cast<int>(length), MPI_BYTE, action.peer, first_tag_, comm_, requests_.next());
  } else {
    const auto room = static_cast<int>(action.bytes + encoded_overhead_bytes - slot::length_bytes);
    rc = PMPI_Irecv(frame, room, MPI_BYTE, action.peer, first_tag_, comm_, requests_.next());
  }
  if (rc == MPI_SUCCESS) requests_.add({action, nullptr, slot});
  return rc;
}

int Exchange::start_grant(const Action& action, bool sends) {
  std::int64_t* const grant = new_grant();
  const int tag = first_tag_ + 1;
  int rc = MPI_SUCCESS;
  if (sends) {
    *grant = action.bytes;
    rc = PMPI_Isend(grant, 1, MPI_INT64_T, action.peer, tag, comm_, requests_.next());
  } else {
    rc = PMPI_Irecv(grant, 1, MPI_INT64_T, action.peer, tag, comm_, requests_.next());
  }
  if (rc == MPI_SUCCESS) requests_.add({action, grant, nullptr});
  return rc;
}

std::int64_t* Exchange::new_grant() {
  if (free_grants_.empty()) return &grants_.emplace_back();
  std::int64_t* const grant = free_grants_.back();
  free_grants_.pop_back();
  return grant;
}

std::byte* Exchange::new_slot() {
  if (free_slots_.empty()) return slots_.emplace_back(slot_bytes_).data();
  std::byte* const slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

}  // namespace antiphon::mpi
