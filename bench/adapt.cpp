// SPDX-License-Identifier: Apache-2.0
/// How well ways that take turns find the fastest one, and what trying costs: antiphon_bench_adapt [STREAMS] [--json].
/// Needs no MPI. Simulates streams of calls whose true times are known: contenders from 0.4 to 2.5 times the time of
/// the way in use at first, 3 to 5000 calls, with noise, heavy tails, drift and steps, and models that expect right and
/// wrong times. Exits with 1 if more than 2 % of the time were lost in a cell where nothing is expected.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "antiphon/adapt.hpp"

namespace {

using namespace antiphon;

constexpr std::array ratios{0.4, 0.6, 0.8, 0.9, 0.95, 1.0, 1.1, 1.25, 1.6, 2.5};
constexpr std::array calls{3, 10, 30, 100, 300, 1000, 5000};
constexpr std::array agreements{0.02, 0.3, 2.0};  ///< cost of agreeing, in calls

/// Kinds of streams: what happens to the times as the run goes on.
enum class Kind { quiet, tails, drift, step, turned };
constexpr std::array kinds{Kind::quiet, Kind::tails, Kind::drift, Kind::step, Kind::turned};
constexpr std::array names{"quiet", "tails", "drift", "step", "turned"};

/// What is expected before the first call: nothing; the time of the way in use, or of both ways, as models know them;
/// or a third of the true time, whatever the other way takes.
enum class Expects { nothing, in_use, both, too_little };
constexpr std::array expectations{Expects::nothing, Expects::in_use, Expects::both, Expects::too_little};
constexpr std::array expects_names{"nothing", "in use", "both", "too little"};

struct Cell {
  Kind kind;
  Expects expects;
  double ratio;
  int calls;
  double agreement;
};

/// What one stream took, in units of one call of the first way at the beginning.
struct Result {
  double taken = 0;
  double best = 0;     ///< of the best way for all calls, in hindsight
  double lost = 0;     ///< calls of a slower way for trial, and agreements
  double in_use = 0;   ///< share of calls in the second half of which the slower way is in use
  bool wrong = false;  ///< at the end, the way in use is slower by more than 5 %
};

/// True time of a way's call, at a point of the run from 0 to 1.
double true_time(const Cell& cell, int way, double point) {
  double time = way == 0 ? 1 : cell.ratio;
  if (cell.kind == Kind::drift) time *= 1 + 2 * point;
  if (cell.kind == Kind::step && point >= 0.5) time *= 4;
  // The network changes so that the other way is the better one.
  if (cell.kind == Kind::turned && point >= 0.5) time = 4 * (way == 0 ? cell.ratio : 1);
  return time;
}

/// Lognormal noise of 25 % with one outlier of 20 times in a hundred; 3 % where it is quiet.
double noise(const Cell& cell, std::mt19937_64& random) {
  const double sigma = cell.kind == Kind::quiet ? 0.03 : 0.25;
  const double value = std::lognormal_distribution<>(0, sigma)(random);
  const bool outlier = cell.kind != Kind::quiet && std::uniform_real_distribution<>(0, 1)(random) < 0.01;
  return outlier ? 20 * value : value;
}

Result simulate(const Cell& cell, std::uint64_t seed) {
  constexpr double call_ns = 1e6;
  std::mt19937_64 random(seed);
  const auto agreement_ns = static_cast<std::int64_t>(cell.agreement * call_ns);
  const int first = static_cast<int>(std::min(512.0, std::max(8.0, cell.agreement / 0.008)));
  Turns::Terms terms{.contenders = 2, .first_round = first, .agreement_ns = agreement_ns};
  constexpr double error_of_models = 0.25;
  const double expected_ns = call_ns * std::lognormal_distribution<>(0, error_of_models)(random);
  if (cell.expects == Expects::in_use || cell.expects == Expects::both) terms.expected_ns = expected_ns;
  if (cell.expects == Expects::both)
    terms.expected_other_ns = cell.ratio * call_ns * std::lognormal_distribution<>(0, error_of_models)(random);
  if (cell.expects == Expects::too_little) terms.expected_ns = expected_ns / 3;
  Turns turns(terms);
  Result r;
  double fixed[2] = {};
  for (int i = 0; i < cell.calls; ++i) {
    const double point = static_cast<double>(i) / cell.calls;
    const int way = turns.next();
    const double times[2] = {true_time(cell, 0, point), true_time(cell, 1, point)};
    for (int w = 0; w < 2; ++w) fixed[w] += times[w];
    r.taken += times[way];
    if (way != turns.in_use()) r.lost += std::max(0.0, times[way] - times[turns.in_use()]);
    if (!turns.done(static_cast<std::int64_t>(call_ns * times[way] * noise(cell, random)))) continue;
    turns.take_in(agreement_ns);
    r.lost += cell.agreement;
    r.taken += cell.agreement;
  }
  r.best = std::min(fixed[0], fixed[1]);
  const int in_use = turns.in_use();
  r.wrong = true_time(cell, in_use, 1) > 1.05 * true_time(cell, 1 - in_use, 1);
  return r;
}

/// The same for a cell: means over its streams.
struct Row {
  Cell cell;
  double lost = 0;    ///< share of the time
  double regret = 0;  ///< time over that of the best fixed way, less 1
  double wrong = 0;   ///< share of streams
};

Row run(const Cell& cell, int streams, std::uint64_t seed) {
  Row row{cell};
  double taken = 0;
  double lost = 0;
  double best = 0;
  for (int i = 0; i < streams; ++i) {
    const Result r = simulate(cell, seed * 1000003 + static_cast<std::uint64_t>(i));
    taken += r.taken;
    lost += r.lost;
    best += r.best;
    row.wrong += r.wrong ? 1.0 / streams : 0;
  }
  row.lost = lost / taken;
  row.regret = taken / best - 1;
  return row;
}

void print_json(const std::vector<Row>& rows, int streams) {
  std::printf("{\"streams_per_cell\": %d, \"cells\": [\n", streams);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& r = rows[i];
    std::printf(
        "{\"kind\": \"%s\", \"expects\": \"%s\", \"ratio\": %g, \"calls\": %d, \"agreement_calls\": %g, \"lost\": "
        "%.5f, \"regret\": %.5f, "
        "\"wrong\": %.3f}%s\n",
        names[static_cast<std::size_t>(r.cell.kind)], expects_names[static_cast<std::size_t>(r.cell.expects)],
        r.cell.ratio, r.cell.calls, r.cell.agreement, r.lost, r.regret, r.wrong, i + 1 < rows.size() ? "," : "");
  }
  std::puts("]}");
}

/// Prints one line for the rows that `belongs` chooses: the worst cell of each figure, and the mean.
template <typename Belongs>
void print_line(const char* name, int n, const std::vector<Row>& rows, Belongs belongs) {
  double lost = 0, lost_sum = 0, regret = -1, ratio = 0, regret_sum = 0, wrong = 0;
  int cells = 0;
  for (const Row& r : rows) {
    if (r.cell.calls != n || !belongs(r.cell)) continue;
    ++cells;
    lost = std::max(lost, r.lost);
    lost_sum += r.lost;
    regret_sum += r.regret;
    wrong += r.wrong;
    if (r.regret > regret) {
      regret = r.regret;
      ratio = r.cell.ratio;
    }
  }
  std::printf("%-10s %5d   %8.2f %%  %6.2f %%   %8.1f %% (%4.2f)   %8.1f %%  %5.1f %%\n", name, n, 100 * lost,
              100 * lost_sum / cells, 100 * regret, ratio, 100 * regret_sum / cells, 100 * wrong / cells);
}

/// Prints a table by kinds of streams where nothing is expected, and one by what is expected.
void print_tables(const std::vector<Row>& rows) {
  const char* const columns = "calls   lost, worst   mean    regret, worst (its ratio)   mean   wrong";
  std::printf("stream     %s\n", columns);
  for (const Kind kind : kinds) {
    for (const int n : calls)
      print_line(names[static_cast<std::size_t>(kind)], n, rows,
                 [&](const Cell& c) { return c.kind == kind && c.expects == Expects::nothing; });
  }
  std::printf("\nexpected   %s\n", columns);
  for (const Expects expects : expectations) {
    for (const int n : calls)
      print_line(expects_names[static_cast<std::size_t>(expects)], n, rows,
                 [&](const Cell& c) { return c.expects == expects; });
  }
}

}  // namespace

int main(int argc, char** argv) {
  int streams = 40;
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) json = true;
    else streams = std::max(1, std::atoi(argv[i]));
  }
  std::vector<Row> rows;
  for (const Expects expects : expectations)
    for (const Kind kind : kinds)
      for (const double ratio : ratios)
        for (const int n : calls)
          for (const double agreement : agreements)
            rows.push_back(run({kind, expects, ratio, n, agreement}, streams, rows.size() + 1));
  if (json) print_json(rows, streams);
  else print_tables(rows);
  double worst = 0;
  for (const Row& r : rows) worst = std::max(worst, r.cell.expects == Expects::nothing ? r.lost : 0);
  std::fprintf(stderr, "%zu cells, %zu streams; most time lost in a cell where nothing is expected: %.2f %%\n",
               rows.size(), rows.size() * static_cast<std::size_t>(streams), 100 * worst);
  return worst > 0.02 ? 1 : 0;
}
