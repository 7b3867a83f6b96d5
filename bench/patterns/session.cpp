// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <cstdio>

#include "../collectives/library.hpp"
#include "../collectives/nodes.hpp"
#include "../collectives/options.hpp"
#include "../collectives/report.hpp"
#include "../collectives/turns.hpp"
#include "antiphon.h"

namespace bench {

PatternSession::PatternSession(const PatternOptions& options, MPI_Comm world) : options_(options), stopwatch_(world) {
  PMPI_Comm_dup(world, &library_);
  PMPI_Comm_rank(world, &rank_);
  PMPI_Comm_size(world, &size_);
  for (const NamedPattern& named : options_.patterns) {
    if (named.pattern.size != size_) {
      throw UsageError("pattern " + named.name + " is for " + std::to_string(named.pattern.size) +
                       " ranks, there are " + std::to_string(size_));
    }
  }
  for (std::size_t i = 0; i < options_.contenders.size(); ++i) MPI_Comm_dup(world, &comms_.emplace_back(MPI_COMM_NULL));
}

PatternSession::~PatternSession() {
  for (MPI_Comm& comm : comms_) MPI_Comm_free(&comm);
  PMPI_Comm_free(&library_);
}

int PatternSession::run() {
  const auto nodes = node_of_each_rank(library_, size_);
  if (rank_ == 0) {
    print_line({{"event", "start"},
                {"library", library_version()},
                {"antiphon_version", antiphon_version()},
                {"ranks", size_},
                {"node_of_rank", nodes}});
  }
  for (const NamedPattern& named : options_.patterns) run_pattern(named);
  LIBRARY(PMPI_Allreduce)(MPI_IN_PLACE, &all_right_, 1, MPI_C_BOOL, MPI_LAND, library_);
  if (rank_ == 0) print_line({{"event", "end"}});
  return all_right_ ? 0 : 1;
}

void PatternSession::run_pattern(const NamedPattern& named) {
  Exchange exchange(named.pattern, rank_);
  Entrants entrants;
  for (std::size_t i = 0; i < options_.contenders.size(); ++i) {
    Entrant entrant{{options_.contenders[i]}, nullptr};
    entrant.way = make_exchanger(entrant.label, exchange, {comms_[i], options_.fabric, options_.yield});
    if (!entrant.way) {
      leave_out(named, entrant.label, "skipped", "this library or process does not have it");
    } else if (enter(exchange, named, entrant)) {
      entrants.push_back(std::move(entrant));
    }
  }
  for (const Mode mode : options_.modes) {
    if (!entrants.empty()) run_mode(named, mode, entrants);
  }
}

/// Checks the contender's result once and warms it up.
bool PatternSession::enter(Exchange& exchange, const NamedPattern& named, Entrant& entrant) {
  exchange.prepare();
  const TimedFunction call = [&entrant] { entrant.way->call(); };
  stopwatch_.estimate(call);
  std::int64_t wrong = exchange.wrong_bytes();
  LIBRARY(PMPI_Allreduce)(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, library_);
  if (wrong != 0) {
    all_right_ = false;
    leave_out(named, entrant.label, "wrong", std::to_string(wrong) + " wrong bytes in its result");
    return false;
  }
  for (int i = 0; i < 2; ++i) entrant.estimate_s = stopwatch_.estimate(call);
  return true;
}

void PatternSession::leave_out(const NamedPattern& named, const std::string& label, const char* event,
                               const std::string& why) const {
  if (rank_ != 0) return;
  print_line({{"event", event}, {"pattern", named.name}, {"contender", label}, {"why", why}});
}

void PatternSession::run_mode(const NamedPattern& named, Mode mode, Entrants& entrants) {
  if (rank_ == 0) std::fprintf(stderr, "%s %s\n", named.name.c_str(), std::string(name(mode)).c_str());
  double round_s = 0;
  for (Entrant& entrant : entrants) {
    entrant.samples.clear();
    round_s += entrant.estimate_s;
  }
  const int calls = calls_in_turn(mode, round_s, options_.budget_s);
  const double start_s = PMPI_Wtime();
  const auto turn = [&](Entrant& entrant, int round) {
    const auto samples = stopwatch_.turn({mode, calls, true, round}, [&entrant] { entrant.way->call(); });
    entrant.samples.insert(entrant.samples.end(), samples.begin(), samples.end());
  };
  take_turns(entrants, turn, [&](int rounds) {
    return another_round(entrants, rounds, PMPI_Wtime() - start_s, {library_, options_.budget_s, false});
  });
  if (rank_ == 0) print(named, mode, calls, entrants);
}

void PatternSession::print(const NamedPattern& named, Mode mode, int calls, const Entrants& entrants) const {
  for (const Entrant& entrant : entrants) {
    print_line({{"event", "result"},
                {"pattern", named.name},
                {"mode", name(mode)},
                {"contender", entrant.label},
                {"chosen", entrant.way->chosen()},
                {"calls_per_sample", Stopwatch::calls_per_sample(mode, calls)},
                {"samples", entrant.samples}});
  }
}

}  // namespace bench
