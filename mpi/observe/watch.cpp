// SPDX-License-Identifier: Apache-2.0
#include "observe/watch.hpp"

#include <algorithm>

namespace antiphon::mpi {

void watch_for(WatchReason reason, bool wanted) {
  const auto bit = static_cast<std::uint8_t>(reason);
  if (wanted) watching::reasons.fetch_or(bit, std::memory_order_relaxed);
  else watching::reasons.fetch_and(static_cast<std::uint8_t>(~bit), std::memory_order_relaxed);
}

void set_p2p_recorder(WatchReason reason, P2pRecorder* recorder) {
  const auto* const at = std::find(recorded.begin(), recorded.end(), reason);
  watching::recorders[static_cast<std::size_t>(at - recorded.begin())].store(recorder, std::memory_order_release);
  watch_for(reason, recorder != nullptr);
}

void set_p2p_handler(P2pHandler handler) {
  watching::handler.store(handler, std::memory_order_release);
  watch_for(WatchReason::handler, handler != nullptr);
}

}  // namespace antiphon::mpi
