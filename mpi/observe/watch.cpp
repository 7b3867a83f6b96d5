// SPDX-License-Identifier: Apache-2.0
#include "observe/watch.hpp"

#include "compress/control.hpp"

namespace antiphon::mpi {

void set_p2p_recorder(P2pRecorder* recorder) {
  watching::recorder.store(recorder, std::memory_order_release);
  update_watching();
}

void update_watching() {
  const bool recorded = watching::recorder.load(std::memory_order_relaxed) != nullptr;
  watching::any.store(framing() || recorded || persistent::in_use(), std::memory_order_relaxed);
}

}  // namespace antiphon::mpi
