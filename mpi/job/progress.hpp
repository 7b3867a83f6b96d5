// SPDX-License-Identifier: Apache-2.0
// What goes on beside the program's calls: persistent collectives that were started, and messages in the library's
// queues.
//
// Other ranks may wait for these operations, so every loop that waits inside a call asks:
//     if (operations_under_way()) make_progress();
// and a wait that hands this thread to the library is allowed only while no operation is under way.
// entry/persistent.cpp counts the operations and says how they go on.
#pragma once

#include <atomic>

namespace antiphon::mpi {

namespace progress_detail {
inline std::atomic<int> operations{0};
inline std::atomic<void (*)()> advance{nullptr};
inline std::atomic<bool> messages{false};
}  // namespace progress_detail

/// Whether an operation is started and not done.
inline bool operations_under_way() { return progress_detail::operations.load(std::memory_order_acquire) > 0; }

/// Goes on with all operations under way, as far as it can without waiting.
inline void make_progress() {
  if (auto* const advance = progress_detail::advance.load(std::memory_order_acquire)) advance();
}

/// An operation starts: `advance` goes on with all of them.
inline void begin_operation(void (*advance)()) {
  progress_detail::advance.store(advance, std::memory_order_release);
  progress_detail::operations.fetch_add(1, std::memory_order_release);
}
inline void end_operation() { progress_detail::operations.fetch_sub(1, std::memory_order_relaxed); }
/// Before the end of MPI: the operations that are left are forgotten.
inline void forget_operations() { progress_detail::operations.store(0, std::memory_order_relaxed); }

/// A call may have left messages for the library to move on: begun, not waited for, or complete for the caller but
/// still in its queues.
inline void note_messages() {
  std::atomic<bool>& noted = progress_detail::messages;
  if (!noted.load(std::memory_order_relaxed)) noted.store(true, std::memory_order_relaxed);
}
inline bool messages_noted() { return progress_detail::messages.load(std::memory_order_relaxed); }

}  // namespace antiphon::mpi
