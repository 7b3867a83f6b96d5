// SPDX-License-Identifier: Apache-2.0
#include "observe/clocks.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "antiphon/text.hpp"
#include "job/clock.hpp"

namespace antiphon::mpi {

namespace {

constexpr int clock_tag = 1;
constexpr int round_trips = 10;

/// Names the clock of this process: that of the running system, as its time namespace shows it. Ranks with equal names
/// need no comparison; a rank that cannot tell has a name of its own.
std::uint64_t clock_name(int rank) {
  std::string name = first_line_of("/proc/sys/kernel/random/boot_id");
  if (name.empty()) name = "rank " + std::to_string(rank);
  std::array<char, 64> space{};
  const auto length = readlink("/proc/self/ns/time", space.data(), space.size());
  if (length > 0) name.append(space.data(), static_cast<std::size_t>(length));
  return std::hash<std::string>{}(name);
}

/// Returns, for each rank, the lowest rank with the same clock.
std::vector<int> clock_of_ranks(MPI_Comm comm, int rank, int size) {
  const std::uint64_t own = clock_name(rank);
  std::vector<std::uint64_t> names(static_cast<std::size_t>(size));
  PMPI_Allgather(&own, 1, MPI_UINT64_T, names.data(), 1, MPI_UINT64_T, comm);
  std::vector<int> lowest;
  for (const std::uint64_t name : names)
    lowest.push_back(static_cast<int>(std::find(names.begin(), names.end(), name) - names.begin()));
  return lowest;
}

/// Is what a parent in the tree answers: its clock, now, and how far that is from rank 0's.
using Answer = std::array<double, 3>;

ClockReading ask(int parent, MPI_Comm comm) {
  ClockReading best;
  double shortest_s = 0;
  for (int i = 0; i < round_trips; ++i) {
    Answer answer{};
    const double asked_s = now_s();
    PMPI_Send(nullptr, 0, MPI_DOUBLE, parent, clock_tag, comm);
    PMPI_Recv(answer.data(), 3, MPI_DOUBLE, parent, clock_tag, comm, MPI_STATUS_IGNORE);
    const double heard_s = now_s();
    if (i > 0 && heard_s - asked_s >= shortest_s) continue;
    shortest_s = heard_s - asked_s;
    const double half_s = shortest_s / 2;
    best = {heard_s, answer[0] + answer[1] - (asked_s + half_s), answer[2] + half_s};
  }
  return best;
}

void answer(int child, const ClockReading& own, MPI_Comm comm) {
  for (int i = 0; i < round_trips; ++i) {
    PMPI_Recv(nullptr, 0, MPI_DOUBLE, child, clock_tag, comm, MPI_STATUS_IGNORE);
    const Answer now{now_s(), own.offset_s, own.error_s};
    PMPI_Send(now.data(), 3, MPI_DOUBLE, child, clock_tag, comm);
  }
}

/// Compares the clocks of `leaders`, of which this rank is number `place`, along a binomial tree.
ClockReading compare(const std::vector<int>& leaders, std::size_t place, MPI_Comm comm) {
  ClockReading own{now_s(), 0, 0};
  if (place > 0) own = ask(leaders[place & (place - 1)], comm);
  std::size_t below = 1;
  while (below < leaders.size() && (place & below) == 0) below <<= 1;
  for (below >>= 1; below > 0; below >>= 1) {
    if (place + below < leaders.size()) answer(leaders[place + below], own, comm);
  }
  return own;
}

}  // namespace

ClockReading read_clocks(MPI_Comm comm) {
  int rank = 0;
  int size = 1;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  const std::vector<int> clocks = clock_of_ranks(comm, rank, size);
  std::vector<int> leaders = clocks;
  std::sort(leaders.begin(), leaders.end());
  leaders.erase(std::unique(leaders.begin(), leaders.end()), leaders.end());
  ClockReading own;
  const int leader = clocks[static_cast<std::size_t>(rank)];
  if (leader == rank) {
    const auto place =
        static_cast<std::size_t>(std::lower_bound(leaders.begin(), leaders.end(), rank) - leaders.begin());
    own = compare(leaders, place, comm);
  }
  static_assert(sizeof(ClockReading) == 3 * sizeof(double));
  std::vector<ClockReading> all(static_cast<std::size_t>(size));
  PMPI_Allgather(&own, 3, MPI_DOUBLE, all.data(), 3, MPI_DOUBLE, comm);
  return all[static_cast<std::size_t>(leader)];
}

ClockScale::ClockScale(const ClockReading& first, const ClockReading& last) : first_(first) {
  const double between_s = last.local_s - first.local_s;
  if (between_s > 0) drift_ = (last.offset_s - first.offset_s) / between_s;
}

}  // namespace antiphon::mpi
