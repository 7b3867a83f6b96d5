// SPDX-License-Identifier: Apache-2.0
#include "observe/watch.hpp"

namespace antiphon::mpi {

void watch_for(WatchReason reason, bool wanted) {
  const auto bit = static_cast<std::uint8_t>(reason);
  if (wanted) watching::reasons.fetch_or(bit, std::memory_order_relaxed);
  else watching::reasons.fetch_and(static_cast<std::uint8_t>(~bit), std::memory_order_relaxed);
}

void set_p2p_recorder(P2pRecorder* recorder) {
  watching::recorder.store(recorder, std::memory_order_release);
  watch_for(WatchReason::recorder, recorder != nullptr);
}

void set_p2p_handler(P2pHandler handler) {
  watching::handler.store(handler, std::memory_order_release);
  watch_for(WatchReason::handler, handler != nullptr);
}

void set_completion_timer(P2pRecorder* timer) {
  watching::timer.store(timer, std::memory_order_release);
  watch_for(WatchReason::completion, timer != nullptr);
}

}  // namespace antiphon::mpi
