// SPDX-License-Identifier: Apache-2.0
#include "world.hpp"

#include <algorithm>
#include <numeric>
#include <thread>

namespace probe {

World::World() {
  MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
}

World::~World() { MPI_Comm_free(&comm_); }

void World::quiet_barrier() const {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(comm_, &request);
  int done = 0;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  // Short waits are answered quickly; long ones, and those of many ranks, cost few wake-ups.
  constexpr double most_us = 2000;
  double pause_us = std::min(most_us, 50.0 * std::max(1, size_ / 16));
  for (int turns = 0; !done; ++turns) {
    std::this_thread::sleep_for(std::chrono::microseconds(static_cast<int>(pause_us)));
    if (turns > 10) pause_us = std::min(most_us, 1.3 * pause_us);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
}

std::int64_t World::agree(std::int64_t of_root) const {
  MPI_Bcast(&of_root, 1, MPI_INT64_T, 0, comm_);
  return of_root;
}

double World::agree(double of_root) const {
  MPI_Bcast(&of_root, 1, MPI_DOUBLE, 0, comm_);
  return of_root;
}

double World::largest(double mine) const {
  double result = 0;
  MPI_Allreduce(&mine, &result, 1, MPI_DOUBLE, MPI_MAX, comm_);
  return result;
}

std::vector<std::vector<double>> World::gather(const std::vector<double>& mine) const {
  const int count = static_cast<int>(mine.size());
  std::vector<int> counts(is_root() ? static_cast<std::size_t>(size_) : 0), offsets(counts.size() + 1);
  MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, comm_);
  std::partial_sum(counts.begin(), counts.end(), offsets.begin() + 1);
  std::vector<double> all(static_cast<std::size_t>(offsets.back()));
  MPI_Gatherv(mine.data(), count, MPI_DOUBLE, all.data(), counts.data(), offsets.data(), MPI_DOUBLE, 0, comm_);
  std::vector<std::vector<double>> result;
  for (std::size_t r = 0; r < counts.size(); ++r)
    result.emplace_back(all.begin() + offsets[r], all.begin() + offsets[r + 1]);
  return result;
}

char* World::grown(std::vector<char>& buffer, std::int64_t bytes) {
  if (static_cast<std::int64_t>(buffer.size()) < bytes) buffer.assign(static_cast<std::size_t>(bytes), 'a');
  return buffer.data();
}

}  // namespace probe
