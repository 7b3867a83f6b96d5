// SPDX-License-Identifier: Apache-2.0
#include "antiphon/send_groups.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "antiphon/fnv.hpp"

namespace antiphon {

namespace {

/// A group is held after so many of them in a row.
constexpr int seen_often = 3;
/// Messages to fewer nodes may as well go all at once.
constexpr std::size_t least_nodes = 2;
/// Messages to so many, and to this part of all other nodes, go in turn in whatever order the program sends them. Where
/// each rank has fewer, some receivers get from more ranks than others, and pauses of a sender help nobody.
constexpr std::size_t many_nodes = 7;
constexpr double most_nodes = 0.75;
/// Shorter groups gain less than holding them costs.
constexpr double least_wire_s = 1.5e-3;
/// In an order that differs from rank to rank, ports hold this much at once, and nothing is lost.
constexpr std::int64_t usual_port_bytes = 128 << 10;
/// A program that computes no longer than this between its calls, or than this part of the wire's time, only waits.
constexpr double at_once_s = 100e-6;
constexpr double at_once_share = 0.05;
/// A group that takes longer this often, and by this much, is not held any more.
constexpr int held_often = 6;
constexpr double clearly_longer = 1.25;
/// Groups are not compared with others that are longer by this factor.
constexpr double about_as_long = 1.1;
/// Programs with more are not understood; what is known is forgotten.
constexpr std::size_t most_patterns = 256;
/// Of longer groups, to look at all messages that are under way would take too long.
constexpr std::size_t most_sends = 512;

std::uint64_t hash_of(std::uint64_t a, std::uint64_t b) {
  Fnv hash;
  hash.add(static_cast<std::int64_t>(a));
  hash.add(static_cast<std::int64_t>(b));
  return hash.value();
}

/// Tells whether ranks are likely to begin with the same receiver: this one goes through most ranks in their order,
/// also through those of its own node.
bool is_same_on_all(const std::vector<SendGroups::Send>& sends) {
  const auto by_rank = [](const SendGroups::Send& a, const SendGroups::Send& b) { return a.peer < b.peer; };
  const bool rises = std::is_sorted(sends.begin(), sends.end(), by_rank);
  const bool falls = std::is_sorted(sends.rbegin(), sends.rend(), by_rank);
  const SendGroups::Send& first = sends.front();
  const bool most = 2 * sends.size() >= static_cast<std::size_t>(first.ranks);
  return rises != falls && most &&
         std::all_of(sends.begin(), sends.end(), [&](const SendGroups::Send& s) { return s.comm == first.comm; });
}

}  // namespace

SendGroups::Advice SendGroups::send(const Send& send, double now_s) {
  if (order_.size() >= most_sends) {
    interrupt();
    return Advice::release;
  }
  order_.push_back(send);
  if (send.near) return Advice::pass;
  const std::uint64_t receiver = hash_of(send.comm, static_cast<std::uint64_t>(send.peer));
  if (sends_.empty()) {
    group_ = {hash_of(last_, receiver), now_s, false};
    group_.held = may_hold();
    back_s_ = now_s;
  }
  computes_s_ += now_s - back_s_;
  const std::size_t at = sends_.size();
  sends_.push_back(send);
  receivers_.push_back(receiver);
  if (!group_.held) return Advice::pass;
  const Pattern& expected = patterns_.at(group_.key);
  if (at < expected.receivers.size() && expected.receivers[at] == receiver) return Advice::hold;
  group_.held = false;
  return Advice::release;
}

SendGroups::Way SendGroups::wait(double now_s) {
  if (sends_.empty()) {
    begin_next(last_);
    return {};
  }
  computes_s_ += now_s - back_s_;
  if (patterns_.size() >= most_patterns && !patterns_.contains(group_.key)) patterns_.clear();
  Pattern& pattern = patterns_[group_.key];
  if (pattern.receivers != receivers_) {
    pattern = {};
    pattern.receivers = receivers_;
  }
  std::int64_t bytes = 0;
  for (const Send& send : sends_) bytes += send.bytes;
  const auto before = static_cast<double>(pattern.times.bytes);
  const auto now = static_cast<double>(bytes);
  if (std::max(before, now) > about_as_long * std::min(before, now)) pattern.times = {.bytes = bytes};
  pattern.seen = fits(bytes) ? pattern.seen + 1 : 0;
  pattern.way = best_way(bytes);
  waited_for_ = group_;
  waits_ = true;
  const Way way = pattern.way;
  std::uint64_t all = receivers_.size();
  for (const std::uint64_t receiver : receivers_) all = hash_of(all, receiver);
  begin_next(all);
  return way;
}

void SendGroups::waited(double now_s) {
  const auto found = patterns_.find(waited_for_.key);
  if (!std::exchange(waits_, false) || found == patterns_.end()) return;
  Times& times = found->second.times;
  double& least_s = waited_for_.held ? times.held_s : times.passed_s;
  least_s = std::min(least_s, now_s - waited_for_.began_s);
  if (waited_for_.held && ++times.held >= held_often && times.held_s > clearly_longer * times.passed_s)
    found->second.refused = true;
}

void SendGroups::interrupt() {
  if (order_.empty()) return;
  if (const auto found = patterns_.find(group_.key); found != patterns_.end()) {
    found->second.seen = 0;
    found->second.refused |= group_.held;
  }
  begin_next(0);
}

bool SendGroups::may_hold() const {
  const auto found = patterns_.find(group_.key);
  if (spoilt_ || found == patterns_.end()) return false;
  const Pattern& pattern = found->second;
  return pattern.seen >= seen_often && pattern.way.in_turn && !pattern.refused;
}

/// Tells whether the group that ends now could have been held.
bool SendGroups::fits(std::int64_t bytes) const {
  const double wire_s = static_cast<double>(bytes) / bytes_per_s_;
  return !spoilt_ && computes_s_ <= std::max(at_once_s, at_once_share * wire_s);
}

/// Returns how the group that ends now had better go the next time.
SendGroups::Way SendGroups::best_way(std::int64_t bytes) const {
  std::set<int> nodes;
  for (const Send& send : sends_) nodes.insert(send.node);
  if (nodes.size() < least_nodes || static_cast<double>(bytes) < least_wire_s * bytes_per_s_) return {};
  if (is_same_on_all(order_)) return {true, true};
  const double part = static_cast<double>(nodes.size()) / (sends_.front().nodes - 1);
  return {nodes.size() >= many_nodes && part >= most_nodes && bytes > usual_port_bytes, false};
}

void SendGroups::begin_next(std::uint64_t last) {
  last_ = last;
  order_.clear();
  sends_.clear();
  receivers_.clear();
  group_ = {};
  computes_s_ = 0;
  spoilt_ = false;
}

}  // namespace antiphon
