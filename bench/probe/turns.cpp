// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include <algorithm>

#include "experiments.hpp"
#include "look.hpp"

namespace probe {

/// Measures how long a waiting rank holds a core that it shares. The first of `awake` (default: all ranks) gives its
/// core away again and again while the others look for two messages; each time it returns when everyone else on its
/// core has had a turn. All ranks outside `awake` sleep.
void turns(World& world, const Task& task) {
  constexpr int settling = 500;
  constexpr int often = 2000;
  constexpr int tag = 18;
  const auto awake = task.numbers("awake", "");
  const auto wakes = [&](std::int64_t rank) {
    return awake.empty() || std::find(awake.begin(), awake.end(), rank) != awake.end();
  };
  if (!wakes(0)) throw UsageError("turns: 'awake' is to name rank 0 among others");
  const bool yields = tests_keep_the_core();
  world.barrier();
  std::vector<double> away_ns;
  if (world.is_root()) {
    for (int i = 0; i < settling; ++i) sched_yield();
    for (int i = 0; i < often; ++i) {
      const double left_ns = now_ns();
      sched_yield();
      away_ns.push_back(now_ns() - left_ns);
    }
    for (int rank = 1; rank < world.size(); ++rank) {
      for (int i = 0; i < 2 && wakes(rank); ++i) MPI_Send(nullptr, 0, MPI_CHAR, rank, tag, world.comm());
    }
  } else if (wakes(world.rank())) {
    MPI_Request requests[2];
    for (MPI_Request& request : requests) MPI_Irecv(nullptr, 0, MPI_CHAR, 0, tag, world.comm(), &request);
    while (!look(requests, yields)) {
    }
  }
  world.quiet_barrier();
  if (world.is_root())
    print_line({{"event", "turns"}, {"label", task.text("label", "")}, {"awake", awake}, {"away_ns", away_ns}});
}

}  // namespace probe
