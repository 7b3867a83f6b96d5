// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "../collectives/measure.hpp"
#include "../collectives/rounds.hpp"
#include "exchanger.hpp"

namespace bench {

struct NamedPattern {
  std::string name;
  antiphon::Pattern pattern;
};

struct PatternOptions {
  std::vector<NamedPattern> patterns;
  std::vector<Mode> modes{Mode::sync};
  std::vector<std::string> contenders{"library"};
  double budget_s = 5;
  antiphon::Fabric fabric;
  bool yield = false;
  bool help = false;
};

/// Measures all patterns in all modes; the contenders take turns. Rank 0 prints the results.
class PatternSession {
 public:
  PatternSession(const PatternOptions& options, MPI_Comm world);
  ~PatternSession();
  PatternSession(const PatternSession&) = delete;
  PatternSession& operator=(const PatternSession&) = delete;

  /// Returns 0, or 1 if a contender gave a wrong result.
  int run();

 private:
  struct Entrant : bench::Entrant {
    std::unique_ptr<Exchanger> way;
  };
  using Entrants = std::vector<Entrant>;

  void run_pattern(const NamedPattern& named);
  bool enter(Exchange& exchange, const NamedPattern& named, Entrant& entrant);
  void run_mode(const NamedPattern& named, Mode mode, Entrants& entrants);
  void print(const NamedPattern& named, Mode mode, int calls, const Entrants& entrants) const;
  void leave_out(const NamedPattern& named, const std::string& label, const char* event, const std::string& why) const;

  const PatternOptions& options_;
  MPI_Comm library_ = MPI_COMM_NULL;
  std::vector<MPI_Comm> comms_;  ///< one per contender
  int rank_ = 0, size_ = 1;
  Stopwatch stopwatch_;
  bool all_right_ = true;
};

}  // namespace bench
