// SPDX-License-Identifier: Apache-2.0
// Operations run beside the program's calls: persistent collectives that are started, and nonblocking ones. All that
// are under way advance together, from the library's own progress (job/progress_hook.hpp), from waits in wrapped calls,
// and from a thread if the user asks for one.
#pragma once

#include <functional>
#include <mutex>

#include "call/call.hpp"

namespace antiphon::mpi {

class Operation {
 public:
  Operation() = default;
  virtual ~Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  /// Advances as far as it can without waiting. Returns true if it is complete.
  virtual bool advance() = 0;
  /// Is called once it is complete and no longer under way; the operation may delete itself.
  virtual void complete() = 0;
};

namespace operations {

/// Keeps other threads, and the library's progress in this one, from advancing operations while one is made ready.
class Lock {
 public:
  Lock();
  ~Lock();
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  std::lock_guard<std::recursive_mutex> held_;
  bool outer_;
};

/// Performs one step of this call's operation. Returns its MPI error code, also for what it throws: the callers are in
/// C.
int step(const Call& call, const std::function<int()>& of_operation);

/// Puts an operation under way. The caller holds the Lock, and the operation stays until complete().
void start(Operation& operation);
/// Advances all operations under way, as far as possible without waiting.
void advance_all();
/// Forgets all operations; called before the end of MPI.
void forget_all();

}  // namespace operations

}  // namespace antiphon::mpi
