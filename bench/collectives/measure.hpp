// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "library.hpp"
#include "workload.hpp"

namespace bench {

/// How calls follow each other. Each mode shows another property of the same collective.
enum class Mode {
  sync,        ///< a barrier before each call
  throughput,  ///< many calls back to back
  burst,       ///< a few calls after a pause or after other traffic, as programs make them
  overlap,     ///< a nonblocking call, a computation without MPI, and the wait
  tested,      ///< the same with MPI_Test every 100 µs of the computation
};
/// Tells whether the mode needs nonblocking calls.
inline bool computes(Mode mode) { return mode == Mode::overlap || mode == Mode::tested; }

/// What a rank does between the start and the wait.
struct Computation {
  double seconds = 0;
  bool sleeps = true;  ///< it leaves the core to others; if not, it takes so many seconds of processor time
};

std::optional<Mode> mode_from_name(std::string_view name);
std::string_view name(Mode mode);

/// The communicator of a contender's calls, the library's own algorithm that must be forced around them (or empty), and
/// whether they are blocking ones where others are not.
struct Way {
  MPI_Comm comm = MPI_COMM_NULL;
  std::string library_algorithm;
  bool blocking = false;
};

/// What is timed.
using TimedFunction = std::function<void()>;

/// One turn of a contender.
struct Turn {
  Mode mode = Mode::sync;
  int calls = 1;        ///< the number of samples in mode sync, and of calls in the one sample of mode throughput
  bool lead_in = true;  ///< makes one call before that does not count
  int round = 0;        ///< decides what comes before a burst
};

/// Takes samples. Each is the slowest rank's time for one call, in seconds. Its functions are collective.
class Stopwatch {
 public:
  explicit Stopwatch(MPI_Comm world);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  /// Takes the samples of one turn of a contender.
  std::vector<double> turn(const Turn& turn, Workload& work, const Way& way);
  std::vector<double> turn(const Turn& turn, const TimedFunction& call);
  /// Sets what ranks compute in the modes that do.
  void set_computation(const Computation& computation) { computation_ = computation; }
  [[nodiscard]] double computation_s() const { return computation_.seconds; }
  /// Measures one call now; all ranks get the result.
  double estimate(Workload& work, const Way& way);
  double estimate(const TimedFunction& call);

  /// The number of calls that a sample of the mode averages.
  static int calls_per_sample(Mode mode, int calls);

 private:
  void barrier() { LIBRARY(PMPI_Barrier)(library_); }
  std::vector<double> slowest(std::vector<double> durations_s);
  double timed_run(const TimedFunction& call, int calls);
  void interlude(int round);
  void compute(MPI_Request* tested) const;
  void overlapped_call(Mode mode, Workload& work, MPI_Comm comm) const;

  MPI_Comm library_ = MPI_COMM_NULL;  ///< for barriers and results; its calls are always the library's own
  std::vector<char> traffic_;
  Computation computation_;
};

}  // namespace bench
