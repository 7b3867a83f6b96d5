// SPDX-License-Identifier: Apache-2.0
#include "measure.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>

#include "library.hpp"
#include "library_algorithms.hpp"
#include "turns.hpp"

namespace bench {

namespace {

constexpr int calls_in_burst = 3;
constexpr std::size_t interlude_bytes = 65536;
constexpr double between_tests_s = 100e-6;

/// Seconds on the monotonic clock.
double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Seconds of processor time that this thread has had.
double processor_s() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Computes for so long, by the clock that the kind of computation goes by.
void compute_for(double seconds, bool sleeps) {
  if (sleeps) return std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  for (const double end_s = processor_s() + seconds; processor_s() < end_s;) {
  }
}

}  // namespace

std::optional<Mode> mode_from_name(std::string_view text) {
  for (const Mode mode : {Mode::sync, Mode::throughput, Mode::burst, Mode::overlap, Mode::tested}) {
    if (name(mode) == text) return mode;
  }
  return std::nullopt;
}

std::string_view name(Mode mode) {
  switch (mode) {
    case Mode::sync: return "sync";
    case Mode::throughput: return "throughput";
    case Mode::burst: return "burst";
    case Mode::overlap: return "overlap";
    case Mode::tested: return "tested";
  }
  return "";
}

Stopwatch::Stopwatch(MPI_Comm world) : traffic_(2 * interlude_bytes) { PMPI_Comm_dup(world, &library_); }

Stopwatch::~Stopwatch() { PMPI_Comm_free(&library_); }

int Stopwatch::calls_per_sample(Mode mode, int calls) {
  return mode == Mode::throughput ? calls : mode == Mode::burst ? calls_in_burst : 1;
}

std::vector<double> Stopwatch::slowest(std::vector<double> durations_s) {
  std::vector<double> result(durations_s.size());
  LIBRARY(PMPI_Allreduce)(durations_s.data(), result.data(), static_cast<int>(result.size()), MPI_DOUBLE, MPI_MAX,
                          library_);
  return result;
}

double Stopwatch::timed_run(const TimedFunction& call, int calls) {
  barrier();
  const double start_s = now_s();
  for (int i = 0; i < calls; ++i) call();
  return (now_s() - start_s) / calls;
}

double Stopwatch::estimate(const TimedFunction& call) { return slowest({timed_run(call, 1)})[0]; }

double Stopwatch::estimate(Workload& work, const Way& way) {
  std::optional<LibraryForcing> forcing;
  if (!way.library_algorithm.empty()) forcing.emplace(work.collective(), way.library_algorithm);
  return estimate([&] { work.call(way.comm, way.blocking); });
}

void Stopwatch::interlude(int round) {
  const Interlude interlude = interlude_of(round);
  if (interlude.sends) {
    LIBRARY(PMPI_Allreduce)(traffic_.data(), traffic_.data() + interlude_bytes, interlude_bytes, MPI_CHAR, MPI_MAX,
                            library_);
  } else {
    std::this_thread::sleep_for(std::chrono::milliseconds(interlude.pause_ms));
  }
}

std::vector<double> Stopwatch::turn(const Turn& turn, Workload& work, const Way& way) {
  std::optional<LibraryForcing> forcing;
  if (!way.library_algorithm.empty()) forcing.emplace(work.collective(), way.library_algorithm);
  if (computes(turn.mode)) return this->turn(turn, [&] { overlapped_call(turn.mode, work, way.comm); });
  return this->turn(turn, [&] { work.call(way.comm, way.blocking); });
}

void Stopwatch::compute(MPI_Request* tested) const {
  if (tested == nullptr) return compute_for(computation_.seconds, computation_.sleeps);
  const auto clock = computation_.sleeps ? now_s : processor_s;
  for (const double end_s = clock() + computation_.seconds; clock() < end_s;) {
    compute_for(std::min(between_tests_s, end_s - clock()), computation_.sleeps);
    int done = 0;
    MPI_Test(tested, &done, MPI_STATUS_IGNORE);
  }
}

void Stopwatch::overlapped_call(Mode mode, Workload& work, MPI_Comm comm) const {
  MPI_Request request = work.start(comm);
  compute(mode == Mode::tested ? &request : nullptr);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

std::vector<double> Stopwatch::turn(const Turn& turn, const TimedFunction& call) {
  std::vector<double> durations_s;
  if (turn.mode == Mode::burst) {
    interlude(turn.round);
    durations_s.push_back(timed_run(call, calls_in_burst));
  } else {
    // The contenders share the connections, and the contender before has shaped them, so the first call does not count.
    if (turn.lead_in) timed_run(call, 1);
    if (turn.mode == Mode::throughput) {
      durations_s.push_back(timed_run(call, turn.calls));
    } else {
      for (int i = 0; i < turn.calls; ++i) durations_s.push_back(timed_run(call, 1));
    }
  }
  return slowest(std::move(durations_s));
}

}  // namespace bench
