// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "measure.hpp"
#include "options.hpp"
#include "stage.hpp"

namespace bench {

/// One run of the benchmark over all cells. Rank 0 prints the results.
class Session {
 public:
  Session(const Options& options, MPI_Comm world);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Returns 0, or 1 if a contender gave a wrong result.
  int run();

 private:
  /// A contender and what is known about it.
  struct Entrant {
    std::string label, chosen;
    Way way;
    double estimate_s = 0;
    std::vector<double> samples;
    bool out = false;  ///< it cannot win
  };
  using Entrants = std::vector<Entrant>;

  void print_start() const;
  void run_cell(const Cell& cell);
  void run_on_stage(const Cell& cell, Stage& stage);
  void run_mode(const Cell& cell, Mode mode, Workload& work, Entrants& entrants);
  [[nodiscard]] int calls_in_turn(Mode mode, const Entrants& entrants) const;
  [[nodiscard]] bool another_round(int rounds, double start_s, const Entrants& entrants) const;
  bool enter(const Contender& contender, std::size_t slot, Workload& work, const Cell& cell, Entrant& entrant);
  [[nodiscard]] bool dear(const Entrant& entrant) const;
  void say_why_not(const Cell& cell, const Entrant& entrant, std::int64_t wrong) const;
  void drop_the_hopeless(Entrants& entrants) const;
  void readmit(Mode mode, Entrants& entrants) const;
  [[nodiscard]] bool time_is_up() const;
  void print_results(const Cell& cell, Mode mode, int calls, const Entrants& entrants) const;

  const Options& options_;
  MPI_Comm world_;
  MPI_Comm library_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  double start_s_ = 0;
  bool all_right_ = true;
  std::map<int, std::unique_ptr<Stage>> stages_;  ///< by number of ranks
  Stage* stage_ = nullptr;                        ///< of the present cell
};

}  // namespace bench
