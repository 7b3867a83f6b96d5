// SPDX-License-Identifier: Apache-2.0
#include "run/exchange.hpp"

#include <algorithm>
#include <cstring>

#include "job/progress.hpp"

namespace antiphon::mpi {

namespace {

constexpr std::size_t first_room = 64;  ///< for requests; it doubles when they need more

}  // namespace

Exchange::Exchange(MPI_Comm comm, int rank, int size, const Options& options)
    : Runner(options.yields), protocol_(rank, size, options.limits), comm_(comm), first_tag_(options.first_tag),
      least_patience_s_(options.patience_s) {}

int Exchange::begin(const Binding& binding) {
  input_ = binding.at(Space::input);
  output_ = binding.at(Space::output);
  requests_.forget_all();
  stalled_ = false;
  library_finished_ = false;
  patience_.begin(std::max(least_patience_s_, way_.patience_s));
  protocol_.reset(problem_->send_bytes, problem_->recv_bytes, way_.steps, way_.in_step);
  const int rc = start_all();
  copy_own_block();
  return rc;
}

void Exchange::copy_own_block() const {
  const Range from = problem_->input_block(problem_->rank);
  const Range to = problem_->output_block(problem_->rank);
  if (to.bytes > 0)
    std::memmove(output_ + to.offset_bytes, input_ + from.offset_bytes, static_cast<std::size_t>(to.bytes));
}

int Exchange::go_on(Waiting& waiting) {
  if (protocol_.all_started() && waiting.may_block(requests_.active())) {
    library_finished_ = true;
    return requests_.wait_for_all();
  }
  while (!done()) {
    if (const int rc = requests_.test(); rc != MPI_SUCCESS) return rc;
    const bool moved = requests_.any_ended();
    if (moved) {
      patience_.note_move();
      requests_.retire([this](const Owner& owner) {
        protocol_.complete(owner.action, owner.grant != nullptr ? *owner.grant : 0);
        if (owner.grant != nullptr) free_grants_.push_back(owner.grant);
        return MPI_SUCCESS;
      });
    } else {
      look_at_clock();
    }
    if (const int rc = start_all(); rc != MPI_SUCCESS || !moved) return rc;
  }
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
  if (requests_.active() == requests_.room()) requests_.reserve(std::max(first_room, 2 * requests_.room()), false);
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

int Exchange::start_data(const Action& action, bool sends) {
  const auto count = static_cast<int>(action.bytes);
  const auto peer = static_cast<std::size_t>(action.peer);
  int rc = MPI_SUCCESS;
  if (sends) {
    note_messages();
    const std::byte* const from = input_ + problem_->send_offsets[peer] + action.offset_bytes;
    rc = PMPI_Isend(from, count, MPI_BYTE, action.peer, first_tag_, comm_, requests_.next());
  } else {
    std::byte* const to = output_ + problem_->recv_offsets[peer] + action.offset_bytes;
    rc = PMPI_Irecv(to, count, MPI_BYTE, action.peer, first_tag_, comm_, requests_.next());
  }
  if (rc == MPI_SUCCESS) requests_.add({action, nullptr});
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
  if (rc == MPI_SUCCESS) requests_.add({action, grant});
  return rc;
}

std::int64_t* Exchange::new_grant() {
  if (free_grants_.empty()) return &grants_.emplace_back();
  std::int64_t* const grant = free_grants_.back();
  free_grants_.pop_back();
  return grant;
}

}  // namespace antiphon::mpi
