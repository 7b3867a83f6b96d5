// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <string_view>
#include <utility>

#include "antiphon.h"
#include "library.hpp"
#include "library_algorithms.hpp"
#include "memory.hpp"
#include "nodes.hpp"
#include "report.hpp"
#include "statistics.hpp"
#include "turns.hpp"

namespace bench {

namespace {

/// In a race, a contender does not run if its first calls took this many times longer than the best one's. The factor
/// is large because short first calls tell little. Later, contenders that are behind by `margin` drop out.
constexpr double hopeless = 2.0;
constexpr double hopeless_when_short = 5.0;
constexpr double short_call_s = 2e-3;
constexpr double margin = 1.05;
constexpr double margin_with_few_samples = 1.25;
constexpr double margin_with_one_sample = 4.0;  ///< a single sample may contain a retransmission timeout
/// A contender within this factor of a mode's best may still be the best of all modes together. Long calls cost too
/// much to find out.
constexpr double worth_another_mode = 1.8;
constexpr double worth_another_mode_when_long = 1.1;
constexpr double long_call_s = 20e-3;
/// A call that takes longer than this and than its cell's budget is its own warm-up.
constexpr double dear_call_s = 0.1;

void say_left_out(const char* event, const Cell& cell, const std::string& contender, const std::string& why) {
  print_line({{"event", event},
              {"collective", cell.collective},
              {"bytes", cell.bytes},
              {"contender", contender},
              {"why", why}});
}

}  // namespace

Session::Session(const Options& options, MPI_Comm world) : options_(options), world_(world), start_s_(PMPI_Wtime()) {
  PMPI_Comm_dup(world, &library_);
  PMPI_Comm_rank(world, &rank_);
  PMPI_Comm_size(world, &size_);
  node_of_rank_ = node_of_each_rank(library_, size_);
  if (options_.root >= size_)
    throw UsageError("--root " + std::to_string(options_.root) + ": there are only " + std::to_string(size_) +
                     " ranks");
  for (const Cell& cell : options_.all_cells()) {
    if (cell.ranks > size_)
      throw UsageError("--cell: " + std::to_string(cell.ranks) + " ranks, but there are only " + std::to_string(size_));
    for (const Contender& contender : cell.contenders) {
      const bool of_library = contender.choice == "library" || !contender.library_algorithm().empty();
      if (!of_library && antiphon_version() == 0) {
        throw UsageError("contender " + contender.label() + ": Antiphon is not loaded into this process");
      }
    }
  }
}

Session::~Session() {
  stages_.clear();
  PMPI_Comm_free(&library_);
}

int Session::run() {
  print_start();
  for (const Cell& cell : options_.all_cells()) {
    if (!time_is_up()) {
      run_cell(cell);
    } else if (rank_ == 0) {
      print_line({{"event", "not_covered"},
                  {"collective", cell.collective},
                  {"bytes", cell.bytes},
                  {"ranks", cell.ranks == 0 ? size_ : cell.ranks}});
    }
  }
  LIBRARY(PMPI_Allreduce)(MPI_IN_PLACE, &all_right_, 1, MPI_C_BOOL, MPI_LAND, library_);
  if (rank_ == 0) print_line({{"event", "end"}});
  return all_right_ ? 0 : 1;
}

/// Rank 0's clock decides for all.
bool Session::time_is_up() const {
  if (options_.deadline_s <= 0) return false;
  int up = PMPI_Wtime() - start_s_ > options_.deadline_s ? 1 : 0;
  LIBRARY(PMPI_Bcast)(&up, 1, MPI_INT, 0, library_);
  return up != 0;
}

void Session::print_start() const {
  if (rank_ != 0) return;
  print_line({{"event", "start"},
              {"library", library_version()},
              {"antiphon_version", antiphon_version()},
              {"ranks", size_},
              {"node_of_rank", node_of_rank_}});
}

void Session::run_cell(const Cell& cell) {
  const int ranks = cell.ranks == 0 ? size_ : cell.ranks;
  auto& stage = stages_[ranks];
  if (!stage) stage = std::make_unique<Stage>(world_, ranks);
  if (stage->member()) run_on_stage(cell, *stage);
  if (rank_ == 0)
    print_line({{"event", "cell_done"}, {"collective", cell.collective}, {"bytes", cell.bytes}, {"ranks", ranks}});
  if (ranks < size_) stage->meet(library_);
}

/// Forces the contender's choice, checks its result once and warms it up. Returns false if it cannot take part.
bool Session::enter(const Contender& contender, std::size_t slot, Workload& work, const Cell& cell, Entrant& entrant) {
  entrant.label = contender.label();
  const bool of_library = entrant.of_library = !contender.library_algorithm().empty();
  entrant.way = stage_->way_of(contender, slot);
  const std::string choice = of_library ? "library" : contender.blocking() ? "auto" : contender.choice;
  const int forced = antiphon_force(entrant.way.comm, contender.collective.c_str(), choice.c_str());
  if (forced == ANTIPHON_BAD_NAME) {
    throw UsageError(contender.collective + " has no algorithm " + contender.choice +
                     ", or a parameter is out of its bounds");
  }
  work.prepare();
  entrant.estimate_s = stage_->stopwatch().estimate(work, entrant.way);
  std::int64_t wrong = work.wrong_elements();
  LIBRARY(PMPI_Allreduce)(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, stage_->library());
  entrant.chosen = of_library ? contender.choice : chosen_now(entrant, cell.collective);
  const bool unable = choice != "library" && choice != "auto" && entrant.chosen == "library";
  if (wrong != 0) all_right_ = false;
  if (wrong != 0 || unable) {
    say_why_not(cell, entrant, wrong);
    return false;
  }
  if (dear(entrant)) return true;
  // In a race the first call counts if it was the faster one: it may include building a schedule, but should not count
  // bad luck.
  const double again_s = stage_->stopwatch().estimate(work, entrant.way);
  entrant.estimate_s = options_.race ? std::min(entrant.estimate_s, again_s) : again_s;
  if (!options_.race) entrant.estimate_s = stage_->stopwatch().estimate(work, entrant.way);
  return true;
}

/// Asks what the last call used; an algorithm of the library's own stays.
std::string Session::chosen_now(const Entrant& entrant, const std::string& collective) {
  if (entrant.of_library) return entrant.chosen;
  char chosen[256] = "library";
  antiphon_chosen(entrant.way.comm, collective.c_str(), chosen, sizeof chosen);
  // A call that moves nothing may be passed on before Antiphon chooses.
  return std::string_view(chosen) == "none" ? "library" : chosen;
}

bool Session::dear(const Entrant& entrant) const {
  return !options_.race && entrant.estimate_s > std::max(options_.budget_s, dear_call_s);
}

void Session::say_why_not(const Cell& cell, const Entrant& entrant, std::int64_t wrong) const {
  if (rank_ != 0) return;
  if (wrong == 0) return say_left_out("skipped", cell, entrant.label, "cannot solve this problem");
  say_left_out("wrong", cell, entrant.label, std::to_string(wrong) + " wrong elements in its result");
}

void Session::run_on_stage(const Cell& cell, Stage& stage) {
  stage_ = &stage;
  const int root = std::min(options_.root, stage.ranks() - 1);
  const bool fits = fits_int_counts(cell.collective, cell.bytes, stage.comm());
  const std::string why_not =
      fits ? why_too_large({cell.collective, cell.bytes, root}, stage.library(), node_of_rank_) : "exceeds int counts";
  if (!why_not.empty()) {
    if (rank_ == 0) say_left_out("skipped", cell, "*", why_not);
    return;
  }
  Workload work(cell.collective, cell.bytes, root, Manner{options_.nonblocking, options_.field}, stage.comm());
  stage.begin_cell();
  Entrants entrants;
  std::size_t slot = 0;
  for (const Contender& contender : cell.contenders) {
    Entrant entrant;
    if (enter(contender, slot++, work, cell, entrant)) entrants.push_back(std::move(entrant));
  }
  if (options_.race) drop_the_hopeless(entrants);
  for (const Mode mode : cell.modes) {
    if (!entrants.empty()) run_mode(cell, mode, work, entrants);
  }
}

/// All ranks have the same samples, so they decide alike.
void Session::drop_the_hopeless(Entrants& entrants) const {
  const auto running = [](const Entrant& e) { return !e.out; };
  const auto sampled =
      std::all_of(entrants.begin(), entrants.end(), [&](const Entrant& e) { return e.out || !e.samples.empty(); });
  const auto time_of = [&](const Entrant& e) { return sampled ? median_of(e.samples) : e.estimate_s; };
  const Entrant* best = nullptr;
  for (const Entrant& e : entrants) {
    if (running(e) && (best == nullptr || time_of(e) < time_of(*best))) best = &e;
  }
  for (Entrant& e : entrants) {
    if (e.out || &e == best || best == nullptr) continue;
    if (!sampled) {
      e.out = e.label != "library" &&
              time_of(e) > (time_of(*best) < short_call_s ? hopeless_when_short : hopeless) * time_of(*best);
      continue;
    }
    const bool apart = median_interval(e.samples).low > median_interval(best->samples).high;
    const std::size_t count = std::min(e.samples.size(), best->samples.size());
    e.out = apart && time_of(e) > (count < 2   ? margin_with_one_sample
                                   : count < 6 ? margin_with_few_samples
                                               : margin) *
                                      time_of(*best);
  }
}

int Session::calls_in_turn(Mode mode, const Entrants& entrants) const {
  double round_s = 0;
  for (const Entrant& entrant : entrants) round_s += entrant.out ? 0 : entrant.estimate_s;
  return bench::calls_in_turn(mode, round_s, options_.budget_s);
}

/// Prepares the next mode. Contenders that were far behind stay out, except the library: whether to replace it is the
/// question in every mode. Nothing overlaps with blocking calls.
void Session::readmit(Mode mode, Entrants& entrants) const {
  double best_s = 0;
  for (const Entrant& e : entrants) {
    if (!e.samples.empty()) best_s = best_s == 0 ? median_of(e.samples) : std::min(best_s, median_of(e.samples));
  }
  for (Entrant& e : entrants) {
    const double worth = best_s > long_call_s ? worth_another_mode_when_long : worth_another_mode;
    if (!e.samples.empty()) e.out = median_of(e.samples) > worth * best_s;
    if (e.label == "library") e.out = false;
    if (e.way.blocking) e.out = computes(mode);
    e.samples.clear();
  }
}

void Session::run_mode(const Cell& cell, Mode mode, Workload& work, Entrants& entrants) {
  if (rank_ == 0) {
    std::fprintf(stderr, "%s %lld B %s\n", cell.collective.c_str(), static_cast<long long>(cell.bytes),
                 std::string(name(mode)).c_str());
  }
  readmit(mode, entrants);
  // All contenders overlap with the same computation. It is as long as the fastest one's call: beside a longer one,
  // slower calls would be hidden, too.
  const auto faster = [](const Entrant& a, const Entrant& b) { return a.estimate_s < b.estimate_s; };
  const double computation_s =
      computes(mode) ? std::min_element(entrants.begin(), entrants.end(), faster)->estimate_s : 0;
  stage_->stopwatch().set_computation({computation_s, !options_.busy});
  const int calls = calls_in_turn(mode, entrants);
  const double start_s = PMPI_Wtime();
  const auto turn = [&](Entrant& entrant, int round) {
    if (entrant.out) return;
    const bool bare = mode == Mode::sync && dear(entrant);
    const auto samples = stage_->stopwatch().turn({mode, bare ? 1 : calls, !bare, round}, work, entrant.way);
    entrant.samples.insert(entrant.samples.end(), samples.begin(), samples.end());
  };
  take_turns(entrants, turn, [&](int rounds) {
    if (options_.race) drop_the_hopeless(entrants);
    return another_round(entrants, rounds, PMPI_Wtime() - start_s,
                         {stage_->library(), options_.budget_s, options_.race});
  });
  if (rank_ == 0) print_results(cell, mode, calls, entrants);
}

/// What a contender used may change between a mode's first call and its last: then both are told.
void Session::print_results(const Cell& cell, Mode mode, int calls, Entrants& entrants) const {
  for (Entrant& entrant : entrants) {
    if (entrant.samples.empty()) {
      print_line({{"event", "dropped"},
                  {"collective", cell.collective},
                  {"bytes", cell.bytes},
                  {"ranks", stage_->ranks()},
                  {"mode", name(mode)},
                  {"contender", entrant.label},
                  {"estimate_s", entrant.estimate_s}});
      continue;
    }
    const std::string first = std::exchange(entrant.chosen, chosen_now(entrant, cell.collective));
    antiphon::Json line{{"event", "result"},
                        {"collective", cell.collective},
                        {"bytes", cell.bytes},
                        {"ranks", stage_->ranks()},
                        {"mode", name(mode)},
                        {"contender", entrant.label},
                        {"chosen", entrant.chosen},
                        {"calls_per_sample", Stopwatch::calls_per_sample(mode, calls)},
                        {"computation_s", stage_->stopwatch().computation_s()},
                        {"samples", entrant.samples}};
    if (first != entrant.chosen) line["chosen_first"] = first;
    print_line(line);
  }
}

}  // namespace bench
