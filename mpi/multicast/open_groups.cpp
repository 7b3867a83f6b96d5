// SPDX-License-Identifier: Apache-2.0
#include "multicast/open_groups.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "job/clock.hpp"
#include "job/progress.hpp"

namespace antiphon::mpi {

/// Holds all groups that are not shut on this rank.
struct OpenGroupTable {
  std::mutex mutex;
  std::condition_variable closing_is_over;
  std::vector<std::shared_ptr<OpenGroup>> groups;
  MulticastCounts counts;
  multicast::Statistics gone;  ///< of groups that were left
  std::uint64_t runs = 0;      ///< of all groups

  [[nodiscard]] int places_taken() const;
  [[nodiscard]] std::uint64_t oldest_within(const std::vector<int>& world_members,
                                            std::span<const std::uint64_t> except) const;
  [[nodiscard]] std::shared_ptr<OpenGroup> find(std::uint64_t number) const;
  [[nodiscard]] multicast::Statistics statistics() const;
};

namespace {

/// It is never destroyed: a program that ends without MPI_Finalize leaves its groups to the system.
OpenGroupTable& table() {
  static auto& all = *new OpenGroupTable;
  return all;
}

void add(multicast::Statistics& sum, const multicast::Statistics& s) {
  sum.packets_sent += s.packets_sent;
  sum.bytes_sent += s.bytes_sent;
  sum.packets_received += s.packets_received;
  sum.bytes_received += s.bytes_received;
  sum.data_sent += s.data_sent;
  sum.data_received += s.data_received;
  sum.repairs_unicast += s.repairs_unicast;
  sum.repairs_multicast += s.repairs_multicast;
  sum.nacks_sent += s.nacks_sent;
  sum.duplicates += s.duplicates;
  sum.forged += s.forged;
  sum.replayed += s.replayed;
  sum.foreign += s.foreign;
  sum.malformed += s.malformed;
  sum.socket_overflows += s.socket_overflows;
  sum.rejoined += s.rejoined;
}

}  // namespace

int OpenGroupTable::places_taken() const {
  return static_cast<int>(std::ranges::count_if(groups, [](const auto& group) { return group->leads_; }));
}

std::uint64_t OpenGroupTable::oldest_within(const std::vector<int>& world_members,
                                            std::span<const std::uint64_t> except) const {
  const OpenGroup* oldest = nullptr;
  for (const auto& group : groups) {
    if (!group->leads_ || !group->may_close() || !group->is_within(world_members)) continue;
    if (std::ranges::find(except, group->number_) != except.end()) continue;
    if (oldest == nullptr || group->last_used_ < oldest->last_used_) oldest = group.get();
  }
  return oldest == nullptr ? 0 : oldest->number_;
}

std::shared_ptr<OpenGroup> OpenGroupTable::find(std::uint64_t number) const {
  const auto at = std::ranges::find_if(groups, [&](const auto& group) { return group->number_ == number; });
  return at == groups.end() ? nullptr : *at;
}

multicast::Statistics OpenGroupTable::statistics() const {
  multicast::Statistics sum = gone;
  for (const auto& group : groups) {
    if (group->transport_) add(sum, group->transport_->statistics());
  }
  return sum;
}

bool OpenGroup::take_place(int budget) {
  const std::lock_guard lock(table().mutex);
  auto& groups = table().groups;
  const auto self = shared_from_this();
  if (std::ranges::find(groups, self) != groups.end()) return true;
  if (leads_ && table().places_taken() >= budget) return false;
  groups.push_back(self);
  return true;
}

void OpenGroup::set_number(std::uint64_t number) {
  const std::lock_guard lock(table().mutex);
  number_ = number;
}

void OpenGroup::opened(std::unique_ptr<multicast::Group> transport) {
  const std::lock_guard lock(table().mutex);
  transport_ = std::move(transport);
  open_ = true;
  runs_ = 1;
  runs_under_way_ = 1;
  last_used_ = ++table().runs;
  ++table().counts.opened;
}

void OpenGroup::not_opened(const std::string& reason) {
  const std::lock_guard lock(table().mutex);
  ++table().counts.refused;
  table().counts.refusal = reason;
  leave_table();
}

bool OpenGroup::begin_run() {
  std::unique_lock lock(table().mutex);
  table().closing_is_over.wait(lock, [this] { return !closing_; });
  if (!open_) return false;
  ++runs_;
  ++runs_under_way_;
  last_used_ = ++table().runs;
  return true;
}

void OpenGroup::end_run() {
  const std::lock_guard lock(table().mutex);
  --runs_under_way_;
}

void OpenGroup::pin() {
  const std::lock_guard lock(table().mutex);
  ++pins_;
}

void OpenGroup::unpin() {
  const std::lock_guard lock(table().mutex);
  --pins_;
}

bool OpenGroup::pinned() const {
  const std::lock_guard lock(table().mutex);
  return pins_ > 0;
}

void OpenGroup::retire() {
  const std::lock_guard lock(table().mutex);
  retired_ = true;
  last_used_ = 0;
}

std::optional<std::uint64_t> OpenGroup::begin_closing() {
  const std::lock_guard lock(table().mutex);
  if (!may_close()) return std::nullopt;
  closing_ = true;
  return runs_;
}

void OpenGroup::stay_open() {
  const std::lock_guard lock(table().mutex);
  closing_ = false;
  table().closing_is_over.notify_all();
}

void OpenGroup::close() {
  std::unique_ptr<multicast::Group> transport;  // ends its threads without the lock
  const std::lock_guard lock(table().mutex);
  if (!open_) return;
  if (transport_) add(table().gone, transport_->statistics());
  transport = std::move(transport_);
  open_ = closing_ = false;
  leave_table();
  table().closing_is_over.notify_all();
}

void OpenGroup::drain() {
  if (!transport_) return;
  const double give_up_s = now_s() + multicast_patience_s;
  while (!transport_->drained() && !transport_->failure() && now_s() < give_up_s) {
    if (operations_under_way()) make_progress();
    transport_->progress(1'000'000);
  }
}

bool OpenGroup::is_open() const {
  const std::lock_guard lock(table().mutex);
  return open_;
}

bool OpenGroup::is_retired() const {
  const std::lock_guard lock(table().mutex);
  return retired_;
}

bool OpenGroup::is_within(const std::vector<int>& world_members) const {
  return std::ranges::includes(world_members, world_members_);
}

void OpenGroup::leave_table() {
  number_ = 0;
  std::erase(table().groups, shared_from_this());
}

namespace multicast_table {

std::uint64_t oldest_within(const std::vector<int>& world_members, std::span<const std::uint64_t> except) {
  const std::lock_guard lock(table().mutex);
  return table().oldest_within(world_members, except);
}

std::shared_ptr<OpenGroup> find(std::uint64_t number) {
  const std::lock_guard lock(table().mutex);
  return table().find(number);
}

void evicted() {
  const std::lock_guard lock(table().mutex);
  ++table().counts.evicted;
}

std::vector<std::shared_ptr<OpenGroup>> all() {
  const std::lock_guard lock(table().mutex);
  return table().groups;
}

}  // namespace multicast_table

MulticastCounts multicast_counts() {
  const std::lock_guard lock(table().mutex);
  return table().counts;
}

multicast::Statistics multicast_statistics() {
  const std::lock_guard lock(table().mutex);
  return table().statistics();
}

}  // namespace antiphon::mpi
