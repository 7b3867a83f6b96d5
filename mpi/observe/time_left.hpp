// SPDX-License-Identifier: Apache-2.0
// What is left of a nonblocking call beside the program's computation: the time that the program spends in the call
// that starts it and in the calls that complete its request, whoever does it.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

namespace antiphon::mpi {

class TimeLeft {
 public:
  /// Returns nanoseconds, or nothing while the request is not complete.
  [[nodiscard]] std::optional<std::int64_t> ns() const {
    if (!complete_.load(std::memory_order_acquire)) return std::nullopt;
    return ns_.load(std::memory_order_relaxed);
  }
  void add_s(double seconds);
  void complete() { complete_.store(true, std::memory_order_release); }

 private:
  std::atomic<std::int64_t> ns_{0};
  std::atomic<bool> complete_{false};
};

/// Watches the calls that complete this request, which a call that began at `began_s` (now_s()) has just started.
std::shared_ptr<const TimeLeft> watch_completion(MPI_Request request, double began_s);

/// Watches no request any more; called before the end of MPI.
void forget_watched_requests();

}  // namespace antiphon::mpi
