// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "experiments.hpp"
#include "statistics.hpp"

namespace probe {

namespace {

constexpr int all_to_all_tag = 13;

/// All messages at once: paper 5, section 5, "Direct Exchange"; each rank has its own order.
double direct_exchange_ns(World& world, MPI_Comm comm, int size, int rank, std::int64_t bytes) {
  char* to = world.in(bytes * size);
  char* from = world.out(bytes * size);
  std::vector<MPI_Request> requests;
  MPI_Barrier(comm);
  const double start = now_ns();
  for (int i = 1; i < size; ++i) {
    const int peer = (rank + size - i) % size;
    requests.emplace_back();
    MPI_Irecv(to + peer * bytes, static_cast<int>(bytes), MPI_CHAR, peer, all_to_all_tag, comm, &requests.back());
  }
  for (int i = 1; i < size; ++i) {
    const int peer = (rank + i) % size;
    requests.emplace_back();
    MPI_Isend(from + peer * bytes, static_cast<int>(bytes), MPI_CHAR, peer, all_to_all_tag, comm, &requests.back());
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  double took = now_ns() - start, slowest = 0;
  MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, comm);
  return slowest;
}

}  // namespace

/// Times direct exchanges among the first P of `members`, for each P in `counts` and each size in `sizes`: the slowest
/// rank's time. `budget` is seconds for all. γ is fitted from these times.
void all_to_all(World& world, const Task& task) {
  const auto members = task.numbers("members", "0,1");
  const auto counts = task.numbers("counts", "2");
  const auto sizes = task.numbers("sizes", "1024,16384,65536");
  const Budget budget(task.real("budget", 8));
  auto cells = static_cast<double>(counts.size() * sizes.size());
  for (const auto count : counts) {
    const auto place = std::find(members.begin(), members.begin() + count, world.rank()) - members.begin();
    const bool takes_part = place < count;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(world.comm(), takes_part ? 0 : MPI_UNDEFINED, static_cast<int>(place), &comm);
    for (const auto bytes : sizes) {
      const double until = now_ns() + budget.left_s() / cells * 1e9;
      cells -= 1;
      std::vector<double> samples;
      std::int64_t more = 1;
      for (int turns = 0; more != 0; ++turns) {
        if (takes_part) {
          const double took = direct_exchange_ns(world, comm, static_cast<int>(count), static_cast<int>(place), bytes);
          if (turns > 0) samples.push_back(took);  // the first turn finds connections cold
        }
        more = world.agree(static_cast<std::int64_t>(
            turns < 5 || (turns < 60 && now_ns() < until && median_of(samples).spread > 0.03)));
      }
      const auto all = world.gather(samples);
      if (!world.is_root()) continue;
      print_line({{"event", "all_to_all"},
                  {"ranks", count},
                  {"bytes", bytes},
                  {"ns", all[static_cast<std::size_t>(members[0])]}});
    }
    if (takes_part) MPI_Comm_free(&comm);
  }
}

}  // namespace probe
