// SPDX-License-Identifier: Apache-2.0
// Ranks whose control group limits their processor time sleep while they wait, once the group has been stopped: in
// Antiphon's own waits, and in the library's where it calls back while it waits.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "antiphon/fact.hpp"

namespace antiphon::mpi::limited_time {

/// Begins with it where this rank's time is limited, unless it is switched off by the variable of that name. Returns
/// what is known; nothing: there is no limit. Call it in MPI_Init.
std::optional<Fact> start(const std::string& switched_off_by);
/// Ends it; called before the library ends.
void stop();

namespace detail {
inline void (*note_look)() = nullptr;   ///< set in MPI_Init where time is limited
inline std::atomic<bool> calls{false};  ///< the program has made one since the last look
}  // namespace detail
inline bool is_on() { return detail::note_look != nullptr; }
/// Is called after a look for messages that has found nothing; it may sleep.
inline void note_look_in_vain() {
  if (is_on()) detail::note_look();
}
/// The program has made a call that may wait.
inline void note_call() {
  if (is_on()) detail::calls.store(true, std::memory_order_relaxed);
}

}  // namespace antiphon::mpi::limited_time
