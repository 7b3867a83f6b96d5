// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include <algorithm>
#include <string_view>

#include "experiments.hpp"

namespace probe {

namespace {

constexpr int tag = 17;

/// Whether testing in vain keeps the core: MPICH's tests do, Open MPI's give it to the next rank where ranks share it.
bool tests_keep_the_core() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  return std::string_view(version, static_cast<std::size_t>(length)).rfind("MPICH", 0) == 0;
}

/// What one rank saw of a row of steps.
struct Row {
  double step_ns = 0;
  double looks = 0;  ///< in vain, per step
};

/// Steps of one message to one rank and one from another, as in the rounds of a collective.
Row row_of_steps(World& world, int from, int to, std::int64_t bytes, int steps, bool yields) {
  const auto count = static_cast<int>(bytes);
  char* in = world.in(bytes);
  const char* out = world.out(bytes);
  std::int64_t looks = 0;
  world.barrier();
  const double start = now_ns();
  for (int step = 0; step < steps; ++step) {
    MPI_Request requests[2];
    MPI_Irecv(in, count, MPI_CHAR, from, tag, world.comm(), &requests[0]);
    MPI_Isend(out, count, MPI_CHAR, to, tag, world.comm(), &requests[1]);
    for (int done = 0; done == 0;) {
      MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
      if (done != 0) break;
      ++looks;
      if (yields) sched_yield();
    }
  }
  return {(now_ns() - start) / steps, static_cast<double>(looks) / steps};
}

}  // namespace

/// What a message costs processors while all ranks send: each again and again to the rank that `to` names for it (a permutation). Per step
/// each rank's time, and how often it looked in vain; for each of `sizes`. budget: seconds for all.
void crowd(World& world, const Task& task) {
  constexpr int steps = 200;
  const auto to = task.numbers("to", "");
  const auto sizes = task.numbers("sizes", "0");
  if (to.size() != static_cast<std::size_t>(world.size())) throw UsageError("crowd: 'to' must name a rank for each rank");
  const auto from = static_cast<int>(std::find(to.begin(), to.end(), world.rank()) - to.begin());
  if (from == world.size()) throw UsageError("crowd: 'to' names no rank that sends to rank " + std::to_string(world.rank()));
  const auto next = static_cast<int>(to[static_cast<std::size_t>(world.rank())]);
  const bool yields = tests_keep_the_core();
  for (const auto bytes : sizes) {
    const Budget budget(task.real("budget", 0.3) / static_cast<double>(sizes.size()));
    std::vector<double> step_ns, looks;
    std::int64_t more = 1;
    for (int row = 0; more != 0; ++row) {
      const Row seen = row_of_steps(world, from, next, bytes, steps, yields);
      if (row > 0) {  // the first finds connections cold
        step_ns.push_back(seen.step_ns);
        looks.push_back(seen.looks);
      }
      more = world.agree(static_cast<std::int64_t>(row < 3 || (row < 60 && budget.left_s() > 0)));
    }
    const auto all_ns = world.gather(step_ns);
    const auto all_looks = world.gather(looks);
    if (!world.is_root()) continue;
    print_line({{"event", "crowd"}, {"label", task.text("label", "")}, {"bytes", bytes}, {"step_ns", all_ns}, {"looks", all_looks}});
  }
}

}  // namespace probe
