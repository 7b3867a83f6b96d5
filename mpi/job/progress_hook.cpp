// SPDX-License-Identifier: Apache-2.0
#include "job/progress_hook.hpp"

#include <atomic>
#include <utility>

#include "job/library.hpp"
#include "job/progress.hpp"

namespace antiphon::mpi::progress_hook {

namespace {

std::atomic<Look> called{nullptr};
void (*told_of_looks)() = nullptr;  ///< set in MPI_Init

template <class Function>
void find(Function*& function, const char* symbol) {
  function = reinterpret_cast<Function*>(next_definition(symbol));
}

#if defined(ANTIPHON_ABI_OPENMPI)

/// Open MPI keeps a list of functions that opal_progress() calls.
struct Hook {
  int (*add)(int (*callback)()) = nullptr;
  int (*remove)(int (*callback)()) = nullptr;
  bool (*set_yields)(bool yields) = nullptr;
  int (*set_events)(int flag) = nullptr;
  bool added = false;
  bool alone = false;  ///< no other thread calls the library

  Hook() {
    find(add, "opal_progress_register");
    find(remove, "opal_progress_unregister");
    find(set_yields, "opal_progress_set_yield_when_idle");
    find(set_events, "opal_progress_set_event_flag");
    int level = MPI_THREAD_MULTIPLE;
    PMPI_Query_thread(&level);
    alone = level != MPI_THREAD_MULTIPLE;
  }
  [[nodiscard]] bool complete() const {
    return add != nullptr && remove != nullptr && set_yields != nullptr && set_events != nullptr;
  }
};

Hook& hook() {
  static Hook found;
  return found;
}

int callback() {
  const Look look = called.load(std::memory_order_acquire);
  if (look == nullptr || !operations_under_way()) return 0;
  bool completed = false;
  Hook& h = hook();
  if (!h.alone) {
    // The flags are the process's: another thread that finds events off after its own look at them waits forever.
    look(completed);
    return completed ? 1 : 0;
  }
  // Tests of messages make progress in turn: that one must neither give the core away nor ask the system for packets.
  const int events = h.set_events(0);
  const bool yields = h.set_yields(false);
  look(completed);
  h.set_yields(yields);
  h.set_events(events);
  return completed ? 1 : 0;
}

int tell() {
  told_of_looks();
  return 0;
}

#elif defined(ANTIPHON_ABI_MPICH)

/// MPICH polls "asynchronous things" until they say that they are done.
struct Hook {
  int (*start)(int (*poll)(MPIX_Async_thing), void* state, MPIX_Stream stream) = nullptr;

  Hook() {
    find(start, "PMPIX_Async_start");
    find(detail::request_is_complete, "PMPIX_Request_is_complete");
  }
  [[nodiscard]] bool complete() const { return start != nullptr && detail::request_is_complete != nullptr; }
};

Hook& hook() {
  static Hook found;
  return found;
}

std::atomic<bool> finalizes{false};

int poll(MPIX_Async_thing) {
  const Look look = called.load(std::memory_order_acquire);
  if (look == nullptr) return MPIX_ASYNC_DONE;
  const bool outer = std::exchange(detail::inside, true);
  bool completed = false;
  const bool goes_on = look(completed);
  detail::inside = outer;
  return goes_on ? MPIX_ASYNC_NOPROGRESS : MPIX_ASYNC_DONE;
}

int tell(MPIX_Async_thing) {
  if (finalizes) return MPIX_ASYNC_DONE;
  told_of_looks();
  return MPIX_ASYNC_NOPROGRESS;
}

#endif

}  // namespace

#if defined(ANTIPHON_ABI_OPENMPI)

bool available() { return hook().complete(); }

void call_back(Look look) {
  called.store(look, std::memory_order_release);
  if (hook().added) return;
  hook().added = true;
  hook().add(callback);
}

void tell_of_looks(void (*told)()) {
  told_of_looks = told;
  hook().add(tell);
}

void release() {
  called.store(nullptr, std::memory_order_release);
  if (hook().added) hook().remove(callback);
  hook().added = false;
}

void before_finalize() {}

#elif defined(ANTIPHON_ABI_MPICH)

bool available() { return !finalizes && hook().complete(); }

void call_back(Look look) {
  called.store(look, std::memory_order_release);
  hook().start(poll, nullptr, MPIX_STREAM_NULL);
}

void tell_of_looks(void (*told)()) {
  told_of_looks = told;
  hook().start(tell, nullptr, MPIX_STREAM_NULL);
}

void release() { called.store(nullptr, std::memory_order_release); }

void before_finalize() {
  finalizes = true;
  release();
}

#else

bool available() { return false; }
void call_back(Look) {}
void tell_of_looks(void (*)()) {}
void release() {}
void before_finalize() {}

#endif

}  // namespace antiphon::mpi::progress_hook
