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
#include "rounds.hpp"
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
  struct Entrant : bench::Entrant {
    std::string chosen;
    Way way;
    bool of_library = false;  ///< one of the library's own algorithms
  };
  using Entrants = std::vector<Entrant>;

  void print_start() const;
  void run_cell(const Cell& cell);
  void run_on_stage(const Cell& cell, Stage& stage);
  void run_mode(const Cell& cell, Mode mode, Workload& work, Entrants& entrants);
  [[nodiscard]] int calls_in_turn(Mode mode, const Entrants& entrants) const;
  bool enter(const Contender& contender, std::size_t slot, Workload& work, const Cell& cell, Entrant& entrant);
  [[nodiscard]] static std::string chosen_now(const Entrant& entrant, const std::string& collective);
  [[nodiscard]] bool dear(const Entrant& entrant) const;
  void say_why_not(const Cell& cell, const Entrant& entrant, std::int64_t wrong) const;
  void drop_the_hopeless(Entrants& entrants) const;
  void readmit(Mode mode, Entrants& entrants) const;
  [[nodiscard]] bool time_is_up() const;
  void print_results(const Cell& cell, Mode mode, int calls, Entrants& entrants) const;

  const Options& options_;
  MPI_Comm world_;
  MPI_Comm library_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  std::vector<int> node_of_rank_;
  double start_s_ = 0;
  bool all_right_ = true;
  std::map<int, std::unique_ptr<Stage>> stages_;  ///< by number of ranks
  Stage* stage_ = nullptr;                        ///< of the present cell
};

}  // namespace bench
