// SPDX-License-Identifier: Apache-2.0
// This file advances the work that goes on beside the program's calls: persistent and nonblocking collectives, and
// messages in the library's queues.
//
// Other ranks may wait for these operations, so every loop that waits inside a call asks:
//     if (operations_under_way()) make_progress();
// A wait may hand this thread to the library only while no operation is under way.
// entry/operations.cpp counts the operations and defines how they advance.
#pragma once

#include <atomic>

namespace antiphon::mpi {

namespace progress_detail {
inline std::atomic<int> operations{0};
inline std::atomic<unsigned> starts{0};  ///< changes when an operation starts
inline std::atomic<bool> waited_for{false};
inline std::atomic<void (*)()> advance{nullptr};
inline std::atomic<bool> messages{false};
}  // namespace progress_detail

/// Tells whether an operation is started and not done.
inline bool operations_under_way() { return progress_detail::operations.load(std::memory_order_acquire) > 0; }

/// Advances all operations under way, as far as it can without waiting.
inline void make_progress() {
  if (auto* const advance = progress_detail::advance.load(std::memory_order_acquire)) advance();
}

/// Wakes the thread in wait_for_operations().
inline void wake_waiters() {
  progress_detail::starts.fetch_add(1, std::memory_order_release);
  progress_detail::starts.notify_all();
}
/// Sleeps until an operation is under way, or `stops` is set and wake_waiters() called. For one thread.
inline void wait_for_operations(const std::atomic<bool>& stops) {
  progress_detail::waited_for.store(true);
  const unsigned seen = progress_detail::starts.load();
  if (progress_detail::operations.load() == 0 && !stops) progress_detail::starts.wait(seen);
}

/// Notes that an operation starts; `advance` advances all of them.
inline void begin_operation(void (*advance)()) {
  progress_detail::advance.store(advance, std::memory_order_release);
  progress_detail::operations.fetch_add(1);
  if (progress_detail::waited_for.load()) wake_waiters();
}
inline void end_operation() { progress_detail::operations.fetch_sub(1, std::memory_order_relaxed); }
/// Forgets the operations that are left; called before the end of MPI.
inline void forget_operations() { progress_detail::operations.store(0, std::memory_order_relaxed); }

/// Notes that a call may leave messages for the library to move: started and not waited for, or complete for the caller
/// but still in the library's queues.
inline void note_messages() {
  std::atomic<bool>& noted = progress_detail::messages;
  if (!noted.load(std::memory_order_relaxed)) noted.store(true, std::memory_order_relaxed);
}
inline bool messages_noted() { return progress_detail::messages.load(std::memory_order_relaxed); }

}  // namespace antiphon::mpi
