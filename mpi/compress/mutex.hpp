// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "compress/framing.hpp"

namespace antiphon::mpi {

/// Costs nothing where the program's calls never meet: several locks a message, on cores that ranks share, are felt.
class Mutex {
 public:
  void lock() {
    if (framing_state.threads) mutex_.lock();
  }
  void unlock() {
    if (framing_state.threads) mutex_.unlock();
  }

 private:
  std::mutex mutex_;
};

}  // namespace antiphon::mpi
