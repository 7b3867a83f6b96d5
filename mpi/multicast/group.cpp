// SPDX-License-Identifier: Apache-2.0
#include "multicast/group.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "call/greatest_tag.hpp"
#include "job/world.hpp"
#include "job/world_ranks.hpp"
#include "multicast/opening.hpp"

namespace antiphon::mpi {

MulticastGroup::MulticastGroup(MPI_Comm comm, int rank, MulticastRoles roles, const MulticastGroup* whole)
    : comm_(comm), rank_(rank), roles_(std::move(roles)), whole_(whole) {
  const std::vector<int> ranks = world_ranks(comm_);
  std::vector<int> world_members;
  for (const int member : roles_.members) world_members.push_back(ranks[static_cast<std::size_t>(member)]);
  std::ranges::sort(world_members);
  group_ = std::make_shared<OpenGroup>(std::move(world_members), roles_.leads);
}

bool MulticastGroup::open() {
  if (!begin_run()) return false;
  end_run();
  return true;
}

bool MulticastGroup::begin_run() {
  if (group_->begin_run()) return true;
  if (refused_) return false;
  reason_ = why_never();
  refused_ = !reason_.empty();
  if (!refused_ && meet()) return true;
  group_->not_opened(reason_);
  return false;
}

/// Returns what all members know to be in the way for ever; an empty text if nothing is.
std::string MulticastGroup::why_never() const {
  if (world.settings.multicast == "off") return "switched off (ANTIPHON_MULTICAST)";
  if (roles_.leaders.size() < 2) return "all ranks are on one node";
  return own_tags(comm_).has_senders() ? "" : "the library has fewer tags than a communicator of so many ranks needs";
}

/// Opens the group with all members.
bool MulticastGroup::meet() {
  met_ = true;
  const bool heard = whole_ != nullptr && whole_->worked_;
  MulticastOpening::Result result = MulticastOpening({comm_, rank_, roles_, *group_}).run(heard);
  refused_ = result.refused;
  reason_ = std::move(result.reason);
  if (!result.open) return false;
  worked_ = true;
  group_->opened(std::move(result.transport));
  return true;
}

void MulticastGroup::close() {
  if (!group_->begin_run()) return;
  group_->drain();
  MulticastOpening({comm_, rank_, roles_, *group_}).barrier();
  group_->close();
}

}  // namespace antiphon::mpi
