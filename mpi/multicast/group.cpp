// SPDX-License-Identifier: Apache-2.0
#include "multicast/group.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "job/clock.hpp"
#include "job/progress.hpp"
#include "job/world_ranks.hpp"
#include "multicast/opening.hpp"

namespace antiphon::mpi {

MulticastGroup::MulticastGroup(MPI_Comm comm, int rank, MulticastRoles roles, const MulticastGroup* whole)
    : comm_(comm), rank_(rank), roles_(std::move(roles)), whole_(whole) {
  const std::vector<int> ranks = world_ranks(comm_);
  for (const int member : roles_.members) world_members_.push_back(ranks[static_cast<std::size_t>(member)]);
  std::sort(world_members_.begin(), world_members_.end());
}

MulticastGroup::~MulticastGroup() { abandon(); }

bool MulticastGroup::open() {
  static std::atomic<std::uint64_t> uses = 0;
  last_used_ = ++uses;
  if (open_ || refused_) return open_;
  const bool heard = whole_ != nullptr && whole_->is_open();
  MulticastOpening::Result result = MulticastOpening({comm_, rank_, roles_, world_members_}).run(heard);
  open_ = result.open;
  refused_ = result.refused;
  reason_ = std::move(result.reason);
  number_ = result.number;
  transport_ = std::move(result.transport);
  if (open_) multicast_table::opened(*this);
  else multicast_table::refused(reason_);
  return open_;
}

void MulticastGroup::drain() {
  if (!transport_) return;
  const double give_up_s = now_s() + multicast_patience_s;
  while (!transport_->drained() && !transport_->failure() && now_s() < give_up_s) {
    if (operations_under_way()) make_progress();
    transport_->progress(1'000'000);
  }
}

void MulticastGroup::close() {
  if (!open_) return;
  drain();
  MulticastOpening({comm_, rank_, roles_, world_members_}).barrier();
  abandon();
}

void MulticastGroup::abandon() {
  if (!open_) return;
  multicast_table::left(*this);
  transport_.reset();
  open_ = false;
}

}  // namespace antiphon::mpi
