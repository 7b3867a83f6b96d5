// SPDX-License-Identifier: Apache-2.0
#include "run/exchange.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "entry/persistent.hpp"
#include "observe/summary.hpp"
#include "observe/watch.hpp"

namespace antiphon::mpi {

namespace {

constexpr std::size_t many_messages = 8;

}  // namespace

Exchange::Exchange(MPI_Comm comm, int rank, int size, const CreditLimits& limits, double patience_s, bool yield,
                   int first_tag)
    : protocol_(rank, size, limits), comm_(comm), first_tag_(first_tag), least_patience_s_(patience_s), yield_(yield) {}

int Exchange::run(const Problem& problem, const std::byte* input, std::byte* output, const Way& way) {
  int rc = begin(problem, input, output, way);
  while (rc == MPI_SUCCESS && !done()) {
    // All that is left is to wait, which the library does best where there are many; it may keep the core meanwhile.
    if (active_ >= many_messages && protocol_.all_started() && !persistent::active()) {
      return PMPI_Waitall(static_cast<int>(active_), requests_.data(), MPI_STATUSES_IGNORE);
    }
    rc = advance();
    if (idle_since_s_ == 0 || rc != MPI_SUCCESS) continue;
    if (persistent::active()) persistent::progress();
    if (yield_) sched_yield();
  }
  return rc;
}

int Exchange::begin(const Problem& problem, const std::byte* input, std::byte* output, const Way& way) {
  problem_ = &problem;
  input_ = input;
  output_ = output;
  active_ = 0;
  idle_since_s_ = 0;
  stalled_ = false;
  patience_s_ = std::max(least_patience_s_, way.patience_s);
  protocol_.reset(problem.send_bytes, problem.recv_bytes, way.steps, way.in_step);
  const int rc = start_all();
  const Range own_in = problem.input_block(problem.rank);
  const Range own_out = problem.output_block(problem.rank);
  if (own_out.bytes > 0)
    std::memmove(output + own_out.offset_bytes, input + own_in.offset_bytes, static_cast<std::size_t>(own_out.bytes));
  return rc;
}

int Exchange::advance() {
  while (!done()) {
    int count = 0;
    const int rc =
        PMPI_Testsome(static_cast<int>(active_), requests_.data(), &count, completed_.data(), MPI_STATUSES_IGNORE);
    if (rc != MPI_SUCCESS) return rc;
    if (count > 0) retire(count);
    else look_at_clock();
    if (const int started = start_all(); started != MPI_SUCCESS) return started;
    if (count == 0) return MPI_SUCCESS;
  }
  return MPI_SUCCESS;
}

/// Nothing has moved.
void Exchange::look_at_clock() {
  const double now = now_s();
  if (idle_since_s_ == 0) idle_since_s_ = now;
  if (!protocol_.in_step() || now - idle_since_s_ <= patience_s_) return;
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

std::int64_t* Exchange::new_grant() {
  if (free_grants_.empty()) return &grants_.emplace_back();
  std::int64_t* const grant = free_grants_.back();
  free_grants_.pop_back();
  return grant;
}

int Exchange::start(const Action& action) {
  if (active_ == requests_.size()) {
    const std::size_t more = std::max<std::size_t>(64, 2 * requests_.size());
    requests_.resize(more, MPI_REQUEST_NULL);
    owners_.resize(more);
    completed_.resize(more);
  }
  MPI_Request* const request = &requests_[active_];
  Owner& owner = owners_[active_];
  owner = {action, nullptr};
  const auto count = static_cast<int>(action.bytes);
  const auto peer = static_cast<std::size_t>(action.peer);
  int rc = MPI_SUCCESS;
  switch (action.kind) {
    case CreditExchange::Kind::recv_short:
    case CreditExchange::Kind::recv_piece:
      rc = PMPI_Irecv(output_ + problem_->recv_offsets[peer] + action.offset_bytes, count, MPI_BYTE, action.peer,
                      first_tag_, comm_, request);
      break;
    case CreditExchange::Kind::send_short:
    case CreditExchange::Kind::send_piece:
      note_messages();
      rc = PMPI_Isend(input_ + problem_->send_offsets[peer] + action.offset_bytes, count, MPI_BYTE, action.peer,
                      first_tag_, comm_, request);
      break;
    case CreditExchange::Kind::recv_grant:
      owner.grant = new_grant();
      rc = PMPI_Irecv(owner.grant, 1, MPI_INT64_T, action.peer, first_tag_ + 1, comm_, request);
      break;
    case CreditExchange::Kind::send_grant:
      owner.grant = new_grant();
      *owner.grant = action.bytes;
      rc = PMPI_Isend(owner.grant, 1, MPI_INT64_T, action.peer, first_tag_ + 1, comm_, request);
      break;
  }
  if (rc == MPI_SUCCESS) ++active_;
  return rc;
}

void Exchange::retire(int count) {
  idle_since_s_ = 0;
  // Free slots from the highest, so that the last active request can fill each hole.
  std::sort(completed_.begin(), completed_.begin() + count, std::greater<>());
  for (int i = 0; i < count; ++i) {
    const auto slot = static_cast<std::size_t>(completed_[static_cast<std::size_t>(i)]);
    const Owner owner = owners_[slot];
    --active_;
    requests_[slot] = requests_[active_];
    owners_[slot] = owners_[active_];
    requests_[active_] = MPI_REQUEST_NULL;
    protocol_.complete(owner.action, owner.grant != nullptr ? *owner.grant : 0);
    if (owner.grant != nullptr) free_grants_.push_back(owner.grant);
  }
}

}  // namespace antiphon::mpi
