// SPDX-License-Identifier: Apache-2.0
// The rows of the summary: calls of one collective, one class of block sizes, and one way to do them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "json/json.hpp"
#include "observe/arrivals.hpp"
#include "observe/clocks.hpp"
#include "observe/counted_call.hpp"

namespace antiphon::mpi::summary {

/// Counts calls on this rank by rows. Sizes are classed by powers of two: a class ends with one. Calls whose blocks
/// differ from rank to rank have no class, since ranks would put the same call into different ones.
class Rows {
 public:
  void count(const CountedCall& call);
  /// Returns the rows of all ranks, on rank 0, with the longest time first. `run_s` is the time of the run, to which
  /// shares refer. Collective over `comm`.
  [[nodiscard]] Json of_all_ranks(double run_s, const ClockScale& clock, MPI_Comm comm) const;

 private:
  struct Row {
    int kind;
    int size_class;
    std::string used;
    std::string reason;
    std::int64_t calls = 0;
    std::int64_t bytes = 0;
    std::int64_t least_bytes = INT64_MAX;
    std::int64_t most_bytes = 0;
    std::int64_t least_ranks = INT64_MAX;  ///< of the communicators
    std::int64_t most_ranks = 0;
    double time_s = 0;
    Arrivals arrivals;
  };
  Row& find(const CountedCall& call);
  [[nodiscard]] Json own(const ClockScale& clock, MPI_Comm comm) const;

  std::vector<Row> rows_;
  std::size_t last_ = 0;  ///< row of the last call
};

}  // namespace antiphon::mpi::summary
