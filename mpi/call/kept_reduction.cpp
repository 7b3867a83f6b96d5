// SPDX-License-Identifier: Apache-2.0
#include "call/kept_reduction.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "call/datatype.hpp"
#include "call/reducible.hpp"
#include "job/library_calls.gen.hpp"

namespace antiphon::mpi {

namespace {

/// Counts the users of handles, and notes which of these the program has freed.
template <typename Handle>
class KeptHandles {
 public:
  void keep(Handle handle) {
    const std::lock_guard lock(mutex_);
    const auto one = find(handle);
    if (one != kept_.end()) ++one->users;
    else kept_.push_back({handle, 1, false});
    any_.store(true, std::memory_order_relaxed);
  }

  /// Ends one use. Returns true if the handle must be freed now.
  bool release(Handle handle) {
    const std::lock_guard lock(mutex_);
    const auto one = find(handle);
    if (one == kept_.end() || --one->users > 0) return false;
    const bool freed = one->freed;
    kept_.erase(one);
    any_.store(!kept_.empty(), std::memory_order_relaxed);
    return freed;
  }

  /// Notes that the program frees the handle. Returns false if nothing uses it.
  bool free_later(Handle handle) {
    if (!any_.load(std::memory_order_relaxed)) return false;
    const std::lock_guard lock(mutex_);
    const auto one = find(handle);
    if (one == kept_.end()) return false;
    one->freed = true;
    return true;
  }

 private:
  struct One {
    Handle handle;
    int users;
    bool freed;
  };
  auto find(Handle handle) {
    return std::find_if(kept_.begin(), kept_.end(), [&](const One& one) { return one.handle == handle; });
  }

  std::mutex mutex_;
  std::atomic<bool> any_{false};
  std::vector<One> kept_;
};

/// These are never destroyed: a program may free handles until its end.
auto& kept_operations = *new KeptHandles<MPI_Op>;
auto& kept_types = *new KeptHandles<MPI_Datatype>;

bool is_named(MPI_Datatype type) {
  TypeInfo info;
  return !inspect(type, info) || info.predefined;
}

}  // namespace

KeptReduction::KeptReduction(MPI_Op op, MPI_Datatype type)
    : op_(is_predefined(op) ? MPI_OP_NULL : op), type_(is_named(type) ? MPI_DATATYPE_NULL : type) {
  if (op_ != MPI_OP_NULL) kept_operations.keep(op_);
  if (type_ != MPI_DATATYPE_NULL) kept_types.keep(type_);
}

KeptReduction::~KeptReduction() {
  if (op_ != MPI_OP_NULL && kept_operations.release(op_)) PMPI_Op_free(&op_);
  if (type_ != MPI_DATATYPE_NULL && kept_types.release(type_)) PMPI_Type_free(&type_);
}

bool free_operation(MPI_Op* op, int& result) {
  if (op == nullptr || !kept_operations.free_later(*op)) return false;
  *op = MPI_OP_NULL;
  result = MPI_SUCCESS;
  return true;
}

bool free_type(MPI_Datatype* type, int& result) {
  if (type == nullptr || !kept_types.free_later(*type)) return false;
  *type = MPI_DATATYPE_NULL;
  result = MPI_SUCCESS;
  return true;
}

}  // namespace antiphon::mpi
