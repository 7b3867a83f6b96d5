// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "compress/framing.hpp"

namespace antiphon::mpi {

/// Locks only in processes with several threads: on cores that ranks share, several locks for each message cost
/// noticeable time.
class Mutex {
 public:
  void lock() {
    if (framing_state.threads) mutex_.lock();
  }
  bool try_lock() { return !framing_state.threads || mutex_.try_lock(); }
  void unlock() {
    if (framing_state.threads) mutex_.unlock();
  }

 private:
  std::mutex mutex_;
};

}  // namespace antiphon::mpi
