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

void set_p2p_handler(WatchReason reason, P2pHandler handler) {
  const auto* const at = std::find(handled.begin(), handled.end(), reason);
  watching::handlers[static_cast<std::size_t>(at - handled.begin())].store(handler, std::memory_order_release);
  watch_for(reason, handler != nullptr);
}

bool watching::is_long(std::int64_t count, MPI_Datatype type, std::int64_t bytes) {
  MPI_Count size = 0;
  return count >= bytes ||
         (type != MPI_DATATYPE_NULL && PMPI_Type_size_x(type, &size) == MPI_SUCCESS && count * size >= bytes);
}

void watch_long_sends(std::int64_t bytes, P2pHandler handler, P2pRecorder* recorder) {
  set_p2p_handler(WatchReason::order, handler);
  set_p2p_recorder(WatchReason::order, recorder);
  watch_for(WatchReason::order, false);
  watching::long_bytes.store(bytes, std::memory_order_relaxed);
}

}  // namespace antiphon::mpi
