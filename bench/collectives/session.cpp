// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <string_view>

#include "antiphon.h"
#include "report.hpp"
#include "statistics.hpp"

namespace bench {

namespace {

constexpr int min_rounds = 3;
constexpr int min_rounds_to_trust = 5;
constexpr int max_rounds = 300;
constexpr double tolerance = 0.03;

std::vector<int> node_of_each_rank(MPI_Comm comm, int size) {
  char own[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  PMPI_Get_processor_name(own, &length);
  std::vector<char> all(static_cast<std::size_t>(size) * MPI_MAX_PROCESSOR_NAME);
  PMPI_Allgather(own, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, all.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, comm);
  std::vector<std::string> names;
  std::vector<int> nodes;
  for (int r = 0; r < size; ++r) {
    const std::string node = all.data() + static_cast<std::size_t>(r) * MPI_MAX_PROCESSOR_NAME;
    const auto found = std::find(names.begin(), names.end(), node);
    nodes.push_back(static_cast<int>(std::distance(names.begin(), found)));
    if (found == names.end()) names.push_back(node);
  }
  return nodes;
}

std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  PMPI_Get_library_version(text, &length);
  const std::string version = text;
  return version.substr(0, version.find_first_of("\n,"));
}

}  // namespace

Session::Session(const Options& options, MPI_Comm world) : options_(options), world_(world), stopwatch_(world) {
  PMPI_Comm_dup(world, &library_);
  PMPI_Comm_rank(world, &rank_);
  PMPI_Comm_size(world, &size_);
  if (options_.root >= size_) throw UsageError("--root " + std::to_string(options_.root) + ": there are only " + std::to_string(size_) + " ranks");
  for (const Contender& contender : options_.contenders) {
    if (contender.choice != "library" && antiphon_version() == 0) {
      throw UsageError("contender " + contender.label() + ": Antiphon is not loaded into this process");
    }
  }
}

Session::~Session() {
  for (MPI_Comm& comm : comms_) MPI_Comm_free(&comm);
  PMPI_Comm_free(&library_);
}

int Session::run() {
  print_start();
  for (const std::string& collective : options_.collectives) {
    const auto sizes = has_bytes(collective) ? options_.bytes : std::vector<std::int64_t>{0};
    for (const std::int64_t bytes : sizes) run_size(collective, bytes);
  }
  return all_right_ ? 0 : 1;
}

void Session::print_start() const {
  const auto nodes = node_of_each_rank(library_, size_);
  if (rank_ != 0) return;
  print_line({{"event", "start"}, {"library", library_version()}, {"antiphon_version", antiphon_version()},
              {"ranks", size_}, {"node_of_rank", nodes}});
}

MPI_Comm Session::comm_of_slot(std::size_t slot) {
  while (comms_.size() <= slot) {
    comms_.push_back(MPI_COMM_NULL);
    MPI_Comm_dup(world_, &comms_.back());
  }
  return comms_[slot];
}

/// Forces the contender's choice, checks its result once and warms it up. False if it cannot take part.
bool Session::enter(const Contender& contender, std::size_t slot, Workload& work, std::int64_t bytes, Entrant& entrant) {
  entrant.label = contender.label();
  entrant.comm = comm_of_slot(slot);
  const int forced = antiphon_force(entrant.comm, contender.collective.c_str(), contender.choice.c_str());
  if (forced == ANTIPHON_BAD_NAME) {
    throw UsageError(contender.collective + " has no algorithm " + contender.choice + ", or a parameter is out of its bounds");
  }
  work.prepare();
  work.call(entrant.comm);
  std::int64_t wrong = work.wrong_elements();
  PMPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, library_);
  char chosen[256] = "library";
  if (forced == ANTIPHON_OK) antiphon_chosen(entrant.comm, contender.collective.c_str(), chosen, sizeof chosen);
  // A call that moves nothing may be passed on before it is looked at.
  entrant.chosen = std::string_view(chosen) == "none" ? "library" : chosen;
  const bool unable = contender.choice != "library" && contender.choice != "auto" && entrant.chosen == "library";
  if (wrong != 0) all_right_ = false;
  if ((wrong != 0 || unable) && rank_ == 0) {
    const std::string why = wrong != 0 ? std::to_string(wrong) + " wrong elements in its result" : "cannot solve this problem";
    print_line({{"event", wrong != 0 ? "wrong" : "skipped"}, {"collective", contender.collective}, {"bytes", bytes},
                {"contender", entrant.label}, {"why", why}});
  }
  if (wrong != 0 || unable) return false;
  for (int i = 0; i < 2; ++i) entrant.estimate_s = stopwatch_.estimate(work, entrant.comm);
  return true;
}

void Session::run_size(const std::string& collective, std::int64_t bytes) {
  if (!fits_int_counts(collective, bytes, world_)) {
    if (rank_ == 0) {
      print_line({{"event", "skipped"}, {"collective", collective}, {"bytes", bytes}, {"contender", "*"}, {"why", "exceeds int counts"}});
    }
    return;
  }
  Workload work(collective, bytes, options_.root, world_);
  std::vector<Entrant> entrants;
  std::size_t slot = 0;
  for (const Contender& contender : options_.contenders_for(collective)) {
    Entrant entrant;
    if (enter(contender, slot++, work, bytes, entrant)) entrants.push_back(std::move(entrant));
  }
  for (const Mode mode : options_.modes) {
    if (!entrants.empty()) run_mode(collective, bytes, mode, work, entrants);
  }
}

/// Long enough that a turn says something, short enough for several rounds in the budget.
int Session::calls_in_turn(Mode mode, const std::vector<Entrant>& entrants) const {
  if (mode == Mode::burst) return 1;
  double round_s = 0;
  for (const Entrant& entrant : entrants) round_s += entrant.estimate_s;
  const double affordable = options_.budget_s / (std::max(round_s, 1e-7) * min_rounds_to_trust);
  if (mode == Mode::sync) return static_cast<int>(std::clamp(affordable - 1, 2.0, 20.0));
  return static_cast<int>(std::clamp(affordable - 1, affordable < 4 ? 4.0 : 8.0, 24.0));
}

/// Rank 0 decides, so that all ranks do the same.
bool Session::another_round(int rounds, double start_s, const std::vector<Entrant>& entrants) const {
  int more = 1;
  if (rank_ == 0 && rounds >= min_rounds) {
    const bool known = rounds >= min_rounds_to_trust && std::all_of(entrants.begin(), entrants.end(), [](const Entrant& entrant) {
      return median_is_known(entrant.samples, tolerance);
    });
    const double elapsed_s = PMPI_Wtime() - start_s;
    more = !known && rounds < max_rounds && elapsed_s * (rounds + 1) / rounds <= options_.budget_s * 1.1;
  }
  PMPI_Bcast(&more, 1, MPI_INT, 0, library_);
  return more != 0;
}

void Session::run_mode(const std::string& collective, std::int64_t bytes, Mode mode, Workload& work, std::vector<Entrant>& entrants) {
  if (rank_ == 0) std::fprintf(stderr, "%s %lld B %s\n", collective.c_str(), static_cast<long long>(bytes), std::string(name(mode)).c_str());
  for (Entrant& entrant : entrants) entrant.samples.clear();
  const int calls = calls_in_turn(mode, entrants);
  const double start_s = PMPI_Wtime();
  int rounds = 0;
  do {
    for (std::size_t i = 0; i < entrants.size(); ++i) {
      // Another one begins in each round: who follows whom is no advantage.
      Entrant& entrant = entrants[(i + static_cast<std::size_t>(rounds)) % entrants.size()];
      const auto samples = stopwatch_.turn(mode, work, entrant.comm, calls);
      entrant.samples.insert(entrant.samples.end(), samples.begin(), samples.end());
    }
    ++rounds;
  } while (another_round(rounds, start_s, entrants));
  if (rank_ != 0) return;
  for (const Entrant& entrant : entrants) {
    print_line({{"event", "result"}, {"collective", collective}, {"bytes", bytes}, {"mode", name(mode)}, {"contender", entrant.label},
                {"chosen", entrant.chosen}, {"calls_per_sample", Stopwatch::calls_per_sample(mode, calls)}, {"samples", entrant.samples}});
  }
}

}  // namespace bench
