// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include "experiments.hpp"

namespace probe {

/// For how long a rank that waits holds a core that it shares: the first rank gives its core away again and again while all others wait
/// in MPI; each time it comes back when everybody else on its core has had a turn.
void turns(World& world, const Task& task) {
  constexpr int settling = 500;
  constexpr int often = 2000;
  world.barrier();
  std::vector<double> away_ns;
  if (world.is_root()) {
    for (int i = 0; i < settling; ++i) sched_yield();
    for (int i = 0; i < often; ++i) {
      const double left_ns = now_ns();
      sched_yield();
      away_ns.push_back(now_ns() - left_ns);
    }
  }
  world.barrier();
  if (world.is_root()) print_line({{"event", "turns"}, {"label", task.text("label", "")}, {"away_ns", away_ns}});
}

}  // namespace probe
