// SPDX-License-Identifier: Apache-2.0
#include "entry/progress_thread.hpp"

#include <mpi.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "antiphon/text.hpp"
#include "job/progress.hpp"
#include "job/progress_hook.hpp"
#include "job/warn.hpp"
#include "job/world.hpp"
#include "threads/without_signals.hpp"

namespace antiphon::mpi {

namespace {

/// The thread looks this often while something is under way: a piece of 16 KiB takes 13 µs at 10 Gb/s.
constexpr std::chrono::microseconds between_looks{10};

std::thread thread;
std::atomic<bool> stops{false};
bool runs = false;  ///< on all ranks

/// Says where a rank runs. Ranks on one machine have the same number, also where that imitates several nodes.
struct Seat {
  std::uint64_t machine = 0;
  cpu_set_t cores{};
};

Seat own_seat() {
  Seat seat;
  seat.machine = std::hash<std::string>{}(first_line_of("/proc/sys/kernel/random/boot_id"));
  sched_getaffinity(0, sizeof seat.cores, &seat.cores);
  return seat;
}

/// Tells whether the system lets this job use a core: it may have been given some of the machine's.
bool may_use(int core) {
  cpu_set_t before, one;
  if (sched_getaffinity(0, sizeof before, &before) != 0) return false;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  const bool may = sched_setaffinity(0, sizeof one, &one) == 0;
  if (may) sched_setaffinity(0, sizeof before, &before);
  return may;
}

/// Returns a core for this rank's thread that no rank uses, -1 if the system finds one, or nothing if there is none.
/// Threads may share a core: they mostly sleep.
std::optional<int> free_core() {
  int rank = 0;
  int size = 1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  const Seat own = own_seat();
  std::vector<Seat> all(static_cast<std::size_t>(size));
  PMPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, MPI_COMM_WORLD);
  cpu_set_t used;
  CPU_ZERO(&used);
  int ranks_here = 0;
  for (const Seat& seat : all) {
    if (seat.machine != own.machine) continue;
    CPU_OR(&used, &used, &seat.cores);
    ++ranks_here;
  }
  std::vector<int> free;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &used) && may_use(core)) free.push_back(core);
  }
  if (!free.empty()) return free[static_cast<std::size_t>(rank) % free.size()];
  return CPU_COUNT(&used) > ranks_here ? std::optional(-1) : std::nullopt;
}

/// Returns what is missing for the thread; null if nothing is. `core` is where it may run then.
const char* missing(std::optional<int>& core) {
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  core = free_core();
  if (level != MPI_THREAD_MULTIPLE) return "the program has not got MPI_THREAD_MULTIPLE from MPI_Init_thread";
  return core ? nullptr : "the ranks use all cores (hint: bind them, and leave one core free)";
}

void look_on(int core) {
  if (core >= 0) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);  // of this thread
  }
  while (!stops) {
    wait_for_operations(stops);
    make_progress();
    std::this_thread::sleep_for(between_looks);
  }
}

bool start_thread(int core) {
  try {
    thread = start_without_signals(look_on, core);
  } catch (const std::system_error&) {
  }
  return thread.joinable();
}

}  // namespace

void start_progress_thread() {
  if (world.settings.progress != "thread") return;
  std::optional<int> core;
  const char* why = missing(core);
  int ready = why == nullptr ? 1 : 0;
  PMPI_Allreduce(MPI_IN_PLACE, &ready, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (ready != 0 && !start_thread(*core)) {
    why = "the system gives no thread";
    ready = 0;
  }
  PMPI_Allreduce(MPI_IN_PLACE, &ready, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  runs = ready != 0;
  if (runs) return;
  stop_progress_thread();
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) warn(std::string("no progress thread: ") + (why != nullptr ? why : "another rank cannot have one"));
}

void stop_progress_thread() {
  if (!thread.joinable()) return;
  stops = true;
  wake_waiters();
  thread.join();
  runs = false;
}

bool operations_advance_always() { return runs || progress_hook::available(); }

}  // namespace antiphon::mpi
