// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace antiphon {

/// Blocks all signals of this thread until it is destroyed.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

/// Starts a thread with all signals blocked: they are for the program's threads. Throws std::system_error if the system
/// gives none.
template <typename... Work>
[[nodiscard]] std::thread start_without_signals(Work&&... work) {
  const SignalsBlocked blocked;
  return std::thread(std::forward<Work>(work)...);
}

}  // namespace antiphon
