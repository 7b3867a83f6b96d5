// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "measure.hpp"
#include "options.hpp"

namespace bench {

/// One run of the benchmark: all collectives × sizes × modes; rank 0 prints the results.
class Session {
 public:
  Session(const Options& options, MPI_Comm world);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// 0, or 1 if a contender gave a wrong result.
  int run();

 private:
  /// A contender with its own communicator, on which its choice is forced.
  struct Entrant {
    std::string label, chosen;
    MPI_Comm comm = MPI_COMM_NULL;
    double estimate_s = 0;
    std::vector<double> samples;
  };

  void print_start() const;
  void run_size(const std::string& collective, std::int64_t bytes);
  void run_mode(const std::string& collective, std::int64_t bytes, Mode mode, Workload& work, std::vector<Entrant>& entrants);
  [[nodiscard]] int calls_in_turn(Mode mode, const std::vector<Entrant>& entrants) const;
  [[nodiscard]] bool another_round(int rounds, double start_s, const std::vector<Entrant>& entrants) const;
  bool enter(const Contender& contender, std::size_t slot, Workload& work, std::int64_t bytes, Entrant& entrant);
  [[nodiscard]] MPI_Comm comm_of_slot(std::size_t slot);

  const Options& options_;
  MPI_Comm world_;
  MPI_Comm library_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  bool all_right_ = true;
  Stopwatch stopwatch_;
  std::vector<MPI_Comm> comms_;  ///< one per place in the list of contenders, kept: real programs keep theirs too
};

}  // namespace bench
