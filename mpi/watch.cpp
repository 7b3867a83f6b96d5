// SPDX-License-Identifier: Apache-2.0
#include "watch.hpp"

namespace antiphon::mpi {

void set_p2p_recorder(P2pRecorder* recorder) {
  watching::recorder.store(recorder, std::memory_order_release);
  watching::any.store(recorder != nullptr || persistent::in_use(), std::memory_order_relaxed);
}

}  // namespace antiphon::mpi
