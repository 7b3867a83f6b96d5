// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "workload.hpp"

namespace bench {

/// How calls are strung together; each gives another truth about the same collective.
enum class Mode {
  sync,        ///< a barrier before each call
  throughput,  ///< many calls back to back
  burst,       ///< a few calls after a pause or after other traffic, as programs make them
};

std::optional<Mode> mode_from_name(std::string_view name);
std::string_view name(Mode mode);

/// Through which communicator a contender's calls go, and which of the library's own algorithms must be forced around
/// them (empty: none).
struct Way {
  MPI_Comm comm = MPI_COMM_NULL;
  std::string library_algorithm;
};

/// What is timed.
using Call = std::function<void()>;

/// Takes samples: each is the time of the slowest rank for one call, in seconds. All ranks call everything alike.
class Stopwatch {
 public:
  explicit Stopwatch(MPI_Comm world);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  /// Samples of one turn of a contender. `calls`: of sync the number of samples, of throughput the calls in its one
  /// sample. `lead_in`: after a call that is not counted.
  std::vector<double> turn(Mode mode, Workload& work, const Way& way, int calls, bool lead_in = true);
  std::vector<double> turn(Mode mode, const Call& call, int calls, bool lead_in = true);
  /// The time of one call right now, known to all ranks.
  double estimate(Workload& work, const Way& way);
  double estimate(const Call& call);

  /// Calls that one sample of the mode is the mean of.
  static int calls_per_sample(Mode mode, int calls);

 private:
  void barrier() { PMPI_Barrier(library_); }
  std::vector<double> slowest(std::vector<double> durations_s);
  double timed_run(const Call& call, int calls);
  void interlude();

  MPI_Comm library_ = MPI_COMM_NULL;  ///< for barriers and results; only PMPI calls, so always the library's own
  int rank_ = 0;
  std::mt19937 random_{20240229};  ///< the same on all ranks
  std::vector<char> traffic_;
  int interludes_ = 0;
};

}  // namespace bench
