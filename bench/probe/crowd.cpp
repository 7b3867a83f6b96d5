// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "experiments.hpp"
#include "look.hpp"

namespace probe {

namespace {

constexpr int crowd_tag = 17;

/// What one rank saw of a row of steps.
struct Row {
  double step_ns = 0;
  double looks = 0;  ///< in vain, per step
};

/// The ranks with which a rank exchanges messages in turn: it sends to those 1, 2, … places after it in its circle, and
/// receives from those as many places before it.
struct Partners {
  std::vector<int> after, before;
};

std::vector<int> follow(const std::vector<int>& next, int rank, std::size_t most) {
  std::vector<int> found;
  for (int r = next[static_cast<std::size_t>(rank)]; r != rank && found.size() < most;
       r = next[static_cast<std::size_t>(r)])
    found.push_back(r);
  return found;
}

/// Finds `most` partners for each rank, or as many as the smallest circle has.
Partners partners_of(int rank, const std::vector<std::int64_t>& to, std::size_t most) {
  const auto ranks = static_cast<int>(to.size());
  std::vector<int> next(to.size()), last(to.size(), -1);
  for (int r = 0; r < ranks; ++r) {
    const std::int64_t other = to[static_cast<std::size_t>(r)];
    if (other < 0 || other >= ranks || last[static_cast<std::size_t>(other)] >= 0)
      throw UsageError("crowd: 'to' is to name each rank once");
    next[static_cast<std::size_t>(r)] = static_cast<int>(other);
    last[static_cast<std::size_t>(other)] = r;
  }
  for (int r = 0; r < ranks; ++r) most = std::min(most, follow(next, r, most).size());
  if (most == 0) throw UsageError("crowd: 'to' names a rank for itself");
  return {follow(next, rank, most), follow(last, rank, most)};
}

/// Makes steps of one message to one rank and one from another, as in a collective's rounds. Each step has other ranks,
/// because sending to the same rank again and again costs less.
Row row_of_steps(World& world, const Partners& partners, std::int64_t bytes, int steps, bool yields) {
  const auto count = static_cast<int>(bytes);
  char* in = world.in(bytes);
  const char* out = world.out(bytes);
  std::int64_t looks = 0;
  world.barrier();
  const double start = now_ns();
  for (int step = 0; step < steps; ++step) {
    const auto turn = static_cast<std::size_t>(step) % partners.after.size();
    const int from = partners.before[turn], to = partners.after[turn];
    MPI_Request requests[2];
    MPI_Irecv(in, count, MPI_CHAR, from, crowd_tag, world.comm(), &requests[0]);
    MPI_Isend(out, count, MPI_CHAR, to, crowd_tag, world.comm(), &requests[1]);
    while (!look(requests, yields)) ++looks;
  }
  return {(now_ns() - start) / steps, static_cast<double>(looks) / steps};
}

}  // namespace

/// Measures the processor time of a message while all ranks send. Each rank sends in turn to the rank that `to`, a
/// permutation, names for it, to the one that it names for that rank, …: `partners` (4) of them, in steps (200). Prints
/// for each of `sizes` each rank's time per step and its number of looks in vain. budget: seconds for all.
void crowd(World& world, const Task& task) {
  const auto steps = static_cast<int>(task.number("steps", 200));
  const auto to = task.numbers("to", "");
  const auto sizes = task.numbers("sizes", "0");
  if (to.size() != static_cast<std::size_t>(world.size()))
    throw UsageError("crowd: 'to' must name a rank for each rank");
  const Partners partners = partners_of(world.rank(), to, static_cast<std::size_t>(task.number("partners", 4)));
  const bool yields = tests_keep_the_core();
  for (const auto bytes : sizes) {
    const Budget budget(task.real("budget", 0.3) / static_cast<double>(sizes.size()));
    std::vector<double> step_ns, looks;
    std::int64_t more = 1;
    for (int row = 0; more != 0; ++row) {
      const Row seen = row_of_steps(world, partners, bytes, steps, yields);
      if (row > 0) {  // the first row finds connections cold
        step_ns.push_back(seen.step_ns);
        looks.push_back(seen.looks);
      }
      more = world.agree(static_cast<std::int64_t>(row < 3 || (row < 60 && budget.left_s() > 0)));
    }
    const auto all_ns = world.gather(step_ns);
    const auto all_looks = world.gather(looks);
    if (!world.is_root()) continue;
    print_line({{"event", "crowd"},
                {"label", task.text("label", "")},
                {"bytes", bytes},
                {"step_ns", all_ns},
                {"looks", all_looks}});
  }
}

}  // namespace probe
