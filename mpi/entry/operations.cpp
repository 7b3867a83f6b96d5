// SPDX-License-Identifier: Apache-2.0
#include "entry/operations.hpp"

#include <mpi.h>

#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

#include "job/progress.hpp"
#include "job/progress_hook.hpp"
#include "job/warn.hpp"

namespace antiphon::mpi::operations {

namespace {

/// The lock is recursive because the library may make progress, and so look after operations, inside any call that an
/// operation makes. `busy` then says that there is nothing to do.
std::recursive_mutex mutex;
bool busy = false;  ///< under `mutex`, as all that follows
bool hooked = false;
/// It is never destroyed: a program that ends without MPI_Finalize must not call MPI.
auto& under_way = *new std::vector<Operation*>;

/// Advances each operation once, and takes out those that are complete. Returns whether there were any.
bool look_at_each() {
  bool any = false;
  for (std::size_t i = 0; i < under_way.size();) {
    Operation* const operation = under_way[i];
    if (!operation->advance()) {
      ++i;
      continue;
    }
    any = true;
    under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(i));
    end_operation();
    operation->complete();
  }
  return any;
}

/// Is called by the library's progress (progress_hook::Look).
bool look(bool& completed) {
  const std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock || busy) return true;
  busy = true;
  completed = look_at_each();
  busy = false;
  return hooked = !under_way.empty();
}

}  // namespace

Lock::Lock() : held_(mutex), outer_(std::exchange(busy, true)) {}
Lock::~Lock() { busy = outer_; }

int step(const Call& call, const std::function<int()>& of_operation) {
  try {
    return of_operation();
  } catch (const std::exception& e) {
    warn(kind_name(kind_of(call)) + ": " + e.what());
    return MPI_ERR_NO_MEM;
  }
}

void start(Operation& operation) {
  under_way.push_back(&operation);
  begin_operation(advance_all);
  if (hooked || !progress_hook::available()) return;
  hooked = true;
  progress_hook::call_back(look);
}

void advance_all() {
  const std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock || busy) return;
  busy = true;
  look_at_each();
  busy = false;
}

void forget_all() {
  const Lock lock;
  under_way.clear();
  hooked = false;
  progress_hook::release();
  forget_operations();
}

}  // namespace antiphon::mpi::operations
