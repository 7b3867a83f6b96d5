// SPDX-License-Identifier: Apache-2.0
#include "entry/finalize_watch.hpp"

#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>
#include <thread>

#include "entry/in_finalize.hpp"
#include "job/library_traits.hpp"
#include "job/warn.hpp"
#include "job/world.hpp"

namespace antiphon::mpi {

namespace {

constexpr int timeout_exit_code = 124;  // coreutils' timeout uses the same code
constexpr std::chrono::seconds abort_takes_at_most{2};

std::atomic<bool> has_returned{false};
std::atomic<bool> is_connected{false};

/// Writes what the program has printed: units of Fortran first, if its runtime is there.
void flush_output() {
  using FlushUnits = void (*)(int*);
  if (auto* const flush = reinterpret_cast<FlushUnits>(dlsym(RTLD_DEFAULT, "_gfortran_flush_i4"))) flush(nullptr);
  std::fflush(nullptr);
}

/// Asks the launcher to end all ranks: it may report another's death where one merely exits. A library that hangs in
/// its own abort ends by exit.
void end_run(std::int64_t limit_s, bool known) {
  warn("MPI_Finalize has not returned for " + std::to_string(limit_s) +
       " s, and all ranks have come to it: the run is ended with exit code " + std::to_string(timeout_exit_code) +
       (known ? "; hint: MPICH 4.0 is known for this over UCX: use a newer one, or Open MPI"
              : "; hint: ANTIPHON_FINALIZE_SECONDS=0 waits for ever"));
  let_launcher_read();
  std::thread([] { PMPI_Abort(MPI_COMM_WORLD, timeout_exit_code); }).detach();
  std::this_thread::sleep_for(abort_takes_at_most);
  _exit(timeout_exit_code);
}

/// Tells whether MPI_Finalize returns within that time. Time in which the process is stopped does not count.
bool returns_within(std::chrono::milliseconds limit) {
  constexpr std::chrono::milliseconds nap{50};
  for (auto slept = nap; !has_returned && slept <= limit; slept += nap) std::this_thread::sleep_for(nap);
  return has_returned;
}

/// How long MPI_Finalize may take, and who waits for it.
struct Watch {
  std::int64_t limit_s;
  int rank;
  bool known;  ///< the library may hang there
};

void await_return(const Watch& w) {
  if (returns_within(std::chrono::seconds(w.limit_s))) return;
  flush_output();
  // The launcher kills all ranks once one has ended: time for all to flush, and turns, so that few say the same.
  if (!returns_within(std::chrono::milliseconds(500 + 800 * std::min(w.rank, 12)))) end_run(w.limit_s, w.known);
}

int begin(MPI_Comm, int, void* watch, void*) {
  const std::unique_ptr<Watch> w(static_cast<Watch*>(watch));
  int any_connected = is_connected ? 1 : 0;
  PMPI_Allreduce(MPI_IN_PLACE, &any_connected, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (any_connected != 0) return MPI_SUCCESS;
  try {
    std::thread(await_return, *w).detach();
  } catch (const std::system_error&) {
    if (world.settings.verbose >= 1) warn("no thread could be had to watch MPI_Finalize");
  }
  return MPI_SUCCESS;
}

}  // namespace

void prepare_finalize_watch() {
  const bool known = library_may_stay_in_finalize();
  std::int64_t limit_s = world.settings.finalize_s;
  if (limit_s < 0) limit_s = known ? 10 : 300;
  int rank = 0;
  int size = 1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  // A program that was spawned waits in MPI_Finalize for those that it is connected to.
  MPI_Comm parent = MPI_COMM_NULL;
  PMPI_Comm_get_parent(&parent);
  if (limit_s == 0 || size == 1 || parent != MPI_COMM_NULL) return;
  std::unique_ptr<Watch> watch(new Watch{limit_s, rank, known});
  if (call_in_finalize(begin, watch.get())) static_cast<void>(watch.release());
}

void note_connection() { is_connected = true; }

void finalize_returned() { has_returned = true; }

}  // namespace antiphon::mpi
