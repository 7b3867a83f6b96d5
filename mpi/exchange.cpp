// SPDX-License-Identifier: Apache-2.0
#include "exchange.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "persistent.hpp"
#include "summary.hpp"

namespace antiphon::mpi {

namespace {

/// Schedules use tags from 0 up on the same communicator; the protocol's messages keep apart from them, so that calls of which
/// some are run as schedules may follow one another without a pause.
constexpr int data_tag = 30000;
constexpr int grant_tag = 30001;
constexpr std::size_t many_messages = 8;

}  // namespace

Exchange::Exchange(MPI_Comm comm, int rank, int size, const CreditLimits& limits, double patience_s, bool yield)
    : protocol_(rank, size, limits), comm_(comm), least_patience_s_(patience_s), yield_(yield) {}

int Exchange::run(const Problem& problem, const std::byte* input, std::byte* output, const Way& way) {
  problem_ = &problem;
  input_ = input;
  output_ = output;
  active_ = 0;
  stalled_ = false;
  patience_s_ = std::max(least_patience_s_, way.patience_s);
  protocol_.reset(problem.send_bytes, problem.recv_bytes, way.steps, way.in_step);
  const Range own_in = problem.input_block(problem.rank);
  const Range own_out = problem.output_block(problem.rank);
  bool copied = own_out.bytes == 0;
  while (true) {
    Action action;
    while (protocol_.next(action)) {
      if (const int rc = start(action); rc != MPI_SUCCESS) return rc;
    }
    if (!copied) std::memmove(output + own_out.offset_bytes, input + own_in.offset_bytes, static_cast<std::size_t>(own_out.bytes));
    copied = true;
    if (protocol_.done()) return MPI_SUCCESS;
    // All that is left is to wait, which the library does best where there are many; it may keep the core meanwhile.
    if (active_ >= many_messages && protocol_.all_started() && !persistent::active()) {
      const int rc = PMPI_Waitall(static_cast<int>(active_), requests_.data(), MPI_STATUSES_IGNORE);
      active_ = 0;
      return rc;
    }
    if (const int rc = wait_some(); rc != MPI_SUCCESS) return rc;
  }
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
    case CreditExchange::Kind::recv_short: case CreditExchange::Kind::recv_piece:
      rc = PMPI_Irecv(output_ + problem_->recv_offsets[peer] + action.offset_bytes, count, MPI_BYTE, action.peer, data_tag, comm_, request);
      break;
    case CreditExchange::Kind::send_short: case CreditExchange::Kind::send_piece:
      rc = PMPI_Isend(input_ + problem_->send_offsets[peer] + action.offset_bytes, count, MPI_BYTE, action.peer, data_tag, comm_, request);
      break;
    case CreditExchange::Kind::recv_grant:
      owner.grant = new_grant();
      rc = PMPI_Irecv(owner.grant, 1, MPI_INT64_T, action.peer, grant_tag, comm_, request);
      break;
    case CreditExchange::Kind::send_grant:
      owner.grant = new_grant();
      *owner.grant = action.bytes;
      rc = PMPI_Isend(owner.grant, 1, MPI_INT64_T, action.peer, grant_tag, comm_, request);
      break;
  }
  if (rc == MPI_SUCCESS) ++active_;
  return rc;
}

int Exchange::wait_some() {
  int count = 0;
  double idle_since_s = 0;
  while (true) {
    const int rc = PMPI_Testsome(static_cast<int>(active_), requests_.data(), &count, completed_.data(), MPI_STATUSES_IGNORE);
    if (rc != MPI_SUCCESS) return rc;
    if (count > 0) break;
    if (protocol_.in_step()) {
      const double now = now_s();
      if (idle_since_s == 0) idle_since_s = now;
      if (now - idle_since_s > patience_s_) {
        protocol_.lose_patience();
        stalled_ = true;
        return MPI_SUCCESS;
      }
    }
    if (persistent::active()) persistent::progress();
    if (yield_) sched_yield();
  }
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
  return MPI_SUCCESS;
}

}  // namespace antiphon::mpi
