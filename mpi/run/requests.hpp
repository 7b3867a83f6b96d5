// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <vector>

#include "job/progress_hook.hpp"

namespace antiphon::mpi {

/// Holds the requests of one runner that are under way, densely in one array as MPI wants them. Each has an owner: what
/// the request is for.
///
///     start a request in *next(), then add(owner);
///     test() or wait_for_all(), then retire(…), which reports each owner whose request has ended.
template <class Owner>
class Requests {
 public:
  /// Reserves room for this many at a time. `statuses` says that the MPI statuses of ended requests are wanted, too.
  void reserve(std::size_t requests, bool statuses) {
    requests_.resize(requests, MPI_REQUEST_NULL);
    owners_.resize(requests);
    ended_.resize(requests);
    statuses_.resize(requests);
    reports_statuses_ = statuses;
  }
  [[nodiscard]] std::size_t room() const { return requests_.size(); }
  [[nodiscard]] std::size_t active() const { return active_; }
  void forget_all() { active_ = ended_count_ = 0; }

  [[nodiscard]] MPI_Request* next() { return &requests_[active_]; }
  void add(const Owner& owner) { owners_[active_++] = owner; }

  /// Finds out which requests have ended.
  int test() {
    ended_count_ = 0;
    if (active_ == 0) return MPI_SUCCESS;
    if (progress_hook::forbids_progress()) return take_complete();
    const int rc =
        PMPI_Testsome(static_cast<int>(active_), requests_.data(), &ended_count_, ended_.data(), statuses_.data());
    return rc == MPI_SUCCESS ? rc : error_of(rc, static_cast<std::size_t>(std::max(ended_count_, 0)));
  }
  int wait_for_all() {
    const int rc = PMPI_Waitall(static_cast<int>(active_), requests_.data(), statuses_.data());
    if (rc != MPI_SUCCESS) return error_of(rc, active_);
    ended_count_ = static_cast<int>(active_);
    std::iota(ended_.begin(), ended_.begin() + ended_count_, 0);
    return MPI_SUCCESS;
  }
  [[nodiscard]] bool any_ended() const { return ended_count_ > 0; }

  /// Calls see(owner, status) for each ended request; works only if statuses are wanted, and before retire().
  template <class See>
  void each_status(See&& see) const {
    if (!reports_statuses_) return;
    for (std::size_t i = 0; i < static_cast<std::size_t>(ended_count_); ++i)
      see(owners_[static_cast<std::size_t>(ended_[i])], statuses_[i]);
  }

  /// Calls off the receives whose owners are of this kind: what they wait for never comes.
  template <class Is>
  void cancel_receives(Is&& is_one) {
    for (std::size_t i = 0; i < active_; ++i) {
      if (requests_[i] == MPI_REQUEST_NULL || !is_one(owners_[i])) continue;
      PMPI_Cancel(&requests_[i]);
      PMPI_Request_free(&requests_[i]);
    }
  }

  /// Frees the slots of ended requests and calls finish(owner) for each, which may add requests and returns an MPI
  /// error code.
  template <class Finish>
  int retire(Finish&& finish) {
    // The loop starts at the highest slot, so that the last active request can fill each hole.
    std::sort(ended_.begin(), ended_.begin() + ended_count_, std::greater<>());
    for (int i = 0; i < ended_count_; ++i) {
      const auto slot = static_cast<std::size_t>(ended_[static_cast<std::size_t>(i)]);
      const Owner owner = owners_[slot];
      --active_;
      requests_[slot] = requests_[active_];
      owners_[slot] = owners_[active_];
      requests_[active_] = MPI_REQUEST_NULL;
      if (const int rc = finish(owner); rc != MPI_SUCCESS) return rc;
    }
    ended_count_ = 0;
    return MPI_SUCCESS;
  }

 private:
  /// Finds out which requests have ended, without making progress.
  int take_complete() {
    for (std::size_t i = 0; i < active_; ++i) {
      if (!progress_hook::is_complete(requests_[i])) continue;
      int done = 0;
      const int rc = PMPI_Test(&requests_[i], &done, &statuses_[static_cast<std::size_t>(ended_count_)]);
      if (rc != MPI_SUCCESS) return rc;
      if (done != 0) ended_[static_cast<std::size_t>(ended_count_++)] = static_cast<int>(i);
    }
    return MPI_SUCCESS;
  }
  /// Returns the error that the first `count` statuses hold, where `rc` says that they do: a collective has no statuses
  /// that a program could look at.
  [[nodiscard]] int error_of(int rc, std::size_t count) const {
    if (rc != MPI_ERR_IN_STATUS) return rc;
    for (std::size_t i = 0; i < count; ++i) {
      const int error = statuses_[i].MPI_ERROR;
      if (error != MPI_SUCCESS && error != MPI_ERR_PENDING) return error;
    }
    return rc;
  }

  std::vector<MPI_Request> requests_;
  std::vector<Owner> owners_;
  std::vector<int> ended_;
  std::vector<MPI_Status> statuses_;
  bool reports_statuses_ = false;
  std::size_t active_ = 0;
  int ended_count_ = 0;
};

}  // namespace antiphon::mpi
