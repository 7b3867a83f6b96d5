// SPDX-License-Identifier: Apache-2.0
#include "multicast/leaving.hpp"

#include <sched.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

#include "job/clock.hpp"
#include "job/world.hpp"

namespace antiphon::mpi {

namespace {

/// At the end, ranks wait this long for one that keeps a communicator which they have freed.
constexpr double patience_s = 1;

struct Leaving {
  MPI_Comm own;
  std::vector<std::shared_ptr<OpenGroup>> groups;
  bool tells = false;                           ///< this rank's part of the barrier has begun
  MPI_Request all_freed_it = MPI_REQUEST_NULL;  ///< a barrier
};

/// No MPI function is called while the mutex is held.
std::mutex mutex;
std::vector<Leaving>& list() {
  static auto& all = *new std::vector<Leaving>;
  return all;
}

/// Returns true if all is done.
bool go_on(Leaving& one) {
  if (!std::exchange(one.tells, true) && PMPI_Ibarrier(one.own, &one.all_freed_it) != MPI_SUCCESS) one.groups.clear();
  int over = 0;
  if (PMPI_Test(&one.all_freed_it, &over, MPI_STATUS_IGNORE) != MPI_SUCCESS || over == 0) return false;
  for (const auto& group : one.groups) {
    if (group->begin_closing()) group->close();
  }
  if (std::ranges::any_of(one.groups, [](const auto& group) { return group->is_open(); })) return false;
  PMPI_Comm_free(&one.own);
  return true;
}

}  // namespace

void leave_later(MPI_Comm own, std::vector<std::shared_ptr<OpenGroup>> groups) {
  const std::lock_guard lock(mutex);
  list().push_back({own, std::move(groups)});
}

bool go_on_leaving() {
  std::vector<Leaving> taken;
  {
    const std::lock_guard lock(mutex);
    taken.swap(list());
  }
  std::erase_if(taken, go_on);
  const std::lock_guard lock(mutex);
  std::ranges::move(taken, std::back_inserter(list()));
  return list().empty();
}

void drain_multicast() {
  if (world.settings.multicast == "off") return;
  go_on_leaving();
  for (const auto& group : multicast_table::all()) {
    if (!group->is_retired()) group->drain();
  }
}

void stop_multicast() {
  if (world.settings.multicast == "off") return;
  const double give_up_s = now_s() + patience_s;
  while (!go_on_leaving() && now_s() < give_up_s) sched_yield();
  for (const auto& group : multicast_table::all()) group->close();
}

}  // namespace antiphon::mpi
