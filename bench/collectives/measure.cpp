// SPDX-License-Identifier: Apache-2.0
#include "measure.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "library.hpp"
#include "library_algorithms.hpp"

namespace bench {

namespace {

constexpr int calls_in_burst = 3;
constexpr std::size_t interlude_bytes = 65536;

/// Seconds on the monotonic clock.
double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

std::optional<Mode> mode_from_name(std::string_view text) {
  for (const Mode mode : {Mode::sync, Mode::throughput, Mode::burst}) {
    if (name(mode) == text) return mode;
  }
  return std::nullopt;
}

std::string_view name(Mode mode) {
  switch (mode) {
    case Mode::sync: return "sync";
    case Mode::throughput: return "throughput";
    case Mode::burst: return "burst";
  }
  return "";
}

Stopwatch::Stopwatch(MPI_Comm world) : traffic_(2 * interlude_bytes) {
  PMPI_Comm_dup(world, &library_);
  PMPI_Comm_rank(library_, &rank_);
}

Stopwatch::~Stopwatch() { PMPI_Comm_free(&library_); }

int Stopwatch::calls_per_sample(Mode mode, int calls) {
  return mode == Mode::sync ? 1 : mode == Mode::throughput ? calls : calls_in_burst;
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
  return estimate([&] { work.call(way.comm); });
}

/// Does what a program does between two bursts. It computes (idle connections make TCP forget its measurements) or
/// sends other messages (which change TCP's windows).
void Stopwatch::interlude() {
  std::uniform_int_distribution<int> pause_ms(50, 300);
  const int pause = pause_ms(random_);
  if (++interludes_ % 2 == 0) {
    LIBRARY(PMPI_Allreduce)(traffic_.data(), traffic_.data() + interlude_bytes, interlude_bytes, MPI_CHAR, MPI_MAX,
                            library_);
  } else {
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
  }
}

std::vector<double> Stopwatch::turn(Mode mode, Workload& work, const Way& way, int calls, bool lead_in) {
  std::optional<LibraryForcing> forcing;
  if (!way.library_algorithm.empty()) forcing.emplace(work.collective(), way.library_algorithm);
  return turn(mode, [&] { work.call(way.comm); }, calls, lead_in);
}

std::vector<double> Stopwatch::turn(Mode mode, const TimedFunction& call, int calls, bool lead_in) {
  std::vector<double> durations_s;
  if (mode == Mode::burst) {
    interlude();
    durations_s.push_back(timed_run(call, calls_in_burst));
  } else {
    // The contenders share the connections, and the contender before has shaped them, so the first call does not count.
    if (lead_in) timed_run(call, 1);
    if (mode == Mode::throughput) {
      durations_s.push_back(timed_run(call, calls));
    } else {
      for (int i = 0; i < calls; ++i) durations_s.push_back(timed_run(call, 1));
    }
  }
  return slowest(std::move(durations_s));
}

}  // namespace bench
