// SPDX-License-Identifier: Apache-2.0
#include "multicast/nack_sender.hpp"

namespace antiphon::multicast {

namespace {

constexpr int least_polls = 64;  ///< at a time
/// Of a member that has not answered several heartbeats, so many more are sent until it is lost.
constexpr int late_heartbeats = 12;
/// The first heartbeat comes this late where nobody waits for acknowledgements, because answering it costs all members
/// more than a short message. It comes early if a member has missed a packet less than `lossy_ns` ago.
constexpr std::int64_t unhurried_ns = 10'000'000, lossy_ns = 1'000'000'000;

}  // namespace

NackSender::NackSender(Core& core, const RoundTrip& repair_time)
    : core_(core), repair_time_(repair_time), answer_time_(core.options()),
      children_(Tree{core.index, core.size, core.options().tree_arity}.children(core.index)), missed_ns_(-lossy_ns) {
  own_.assign(static_cast<std::size_t>(core.size), 0);
  polled_ns_.assign(static_cast<std::size_t>(core.size), -1);
  repaired_.resize(static_cast<std::size_t>(core.window_packets));
}

void NackSender::echo(std::uint32_t echo) {
  if (echo == 0 || echo != heartbeat_id_ || !echo_wanted_) return;
  answer_time_.sample(core_.now_ns - heartbeat_ns_);
  core_.statistics.round_trip_ns = answer_time_.smoothed_ns();
  echo_wanted_ = false;
}

void NackSender::member_ack(int member, std::uint32_t upto) {
  Position& own = own_[static_cast<std::size_t>(member)];
  own = std::max(own, unwrap(upto, core_.out.base()));
  move_window();
}

void NackSender::subtree_ack(int child, std::uint32_t upto) {
  note_subtree(children_, child, unwrap(upto, core_.out.base()));
  move_window();
}

void NackSender::nack(int from, const Nack& nack) {
  member_ack(from, nack.upto);
  if (!nack.ranges.empty()) missed_ns_ = core_.now_ns;
  const Position base = core_.out.base(), sent = core_.out.sent();
  for (const Nack::Range& range : nack.ranges) {
    const Position first = unwrap(range.first, base);
    const Position end = std::min(sent, first + std::int64_t{range.packets});
    for (Position position = std::max(first, base); position < end; ++position) ask_repair(position, from);
  }
}

/// Moves the window to what all members have. A branch of the tree counts by its own report or by the reports of all
/// its single members, whichever is further.
void NackSender::move_window() {
  const Tree tree{core_.index, core_.size, core_.options().tree_arity};
  std::vector<Position> singly(children_.size(), std::numeric_limits<Position>::max());
  for (int member = 0; member < core_.size; ++member) {
    if (member == core_.index) continue;
    Position& least = singly[static_cast<std::size_t>(tree.branch(member))];
    least = std::min(least, own_[static_cast<std::size_t>(member)]);
  }
  Position all = std::numeric_limits<Position>::max();
  for (std::size_t i = 0; i < children_.size(); ++i) all = std::min(all, std::max(children_[i].upto, singly[i]));
  core_.out.acknowledged(all);
  repairs_.erase(repairs_.begin(), repairs_.lower_bound({core_.out.base(), to_everybody}));
}

void NackSender::ask_repair(Position position, int from) {
  const Repaired& last = repaired(position);
  const std::int64_t too_soon =
      std::max({core_.options().least_retry_ns, repair_time_.smoothed_ns() / 2, answer_time_.smoothed_ns() / 2});
  if (last.position == position && (last.to < 0 || last.to == from) && core_.now_ns - last.at_ns < too_soon)
    return;  // the repair is on its way
  if (last.position == position && last.went_to_all) {
    // Packets to all do not seem to reach this member.
    repairs_.emplace(Repair{position, from}, core_.now_ns);
    return;
  }
  const auto found = repairs_.lower_bound({position, to_everybody});
  if (found != repairs_.end() && found->first.first == position) {
    if (found->first.second == to_everybody || found->first.second == from) return;
    repairs_.emplace(Repair{position, to_everybody}, found->second);  // more than one member misses it
    repairs_.erase(found);
    return;
  }
  // Others may miss the packet too, so the repair waits a moment for their questions.
  const std::int64_t wait = core_.size > 2 ? core_.options().least_retry_ns / 2 : 0;
  repairs_.emplace(Repair{position, from}, core_.now_ns + wait);
}

bool NackSender::send_again() {
  std::vector<DataPacket> packets;
  for (auto it = repairs_.begin(); it != repairs_.end() && packets.size() < again_at_once; ++it) {
    if (it->second <= core_.now_ns) packets.push_back(core_.out.again(it->first.first, it->first.second));
  }
  if (packets.empty()) return false;
  const std::size_t taken = core_.courier.send(packets);
  for (std::size_t i = 0; i < taken; ++i) {
    const Position position = unwrap(packets[i].data.position, core_.out.base());
    Repaired& last = repaired(position);
    const bool went_to_all = packets[i].to < 0 || (last.position == position && last.went_to_all);
    last = {position, packets[i].to, went_to_all, core_.now_ns};
    ++(packets[i].to < 0 ? core_.statistics.repairs_multicast : core_.statistics.repairs_unicast);
    repairs_.erase({position, packets[i].to});
  }
  return taken > 0;
}

bool NackSender::is_behind(int member) const {
  return member != core_.index && own_[static_cast<std::size_t>(member)] < core_.out.sent();
}

bool NackSender::owes_answer(int member) const {
  return polled_ns_[static_cast<std::size_t>(member)] >= core_.heard_ns[static_cast<std::size_t>(member)];
}

/// Polls members that are behind: those that owe an answer each time, so that a lost packet loses no member, and others
/// in turn, so that a large group's answers do not come all at once.
void NackSender::poll_directly() {
  const Heartbeat poll{Heartbeat::direct, heartbeat_id_, wrap(core_.out.sent())};
  int left = std::max(least_polls, core_.size / late_heartbeats);
  const auto ask = [&](int member) {
    core_.courier.post(member, Type::heartbeat, body(poll));
    ++core_.statistics.polls_sent;
    --left;
  };
  for (int member = 0; member < core_.size && left > 0; ++member) {
    if (is_behind(member) && owes_answer(member)) ask(member);
  }
  for (int i = 0; i < core_.size && left > 0; ++i) {
    const int member = next_polled_;
    next_polled_ = (next_polled_ + 1) % core_.size;
    if (!is_behind(member) || owes_answer(member)) continue;
    polled_ns_[static_cast<std::size_t>(member)] = core_.now_ns;
    ask(member);
  }
}

/// Returns the wait until the next heartbeat. A member that has not answered several is late (it computes) or gone, so
/// there is no hurry.
std::int64_t NackSender::patience_ns() const {
  if (attempts_ > 8) return core_.options().lost_after_ns / late_heartbeats;
  const bool hurried = attempts_ > 0 || core_.out.awaited() || core_.now_ns - missed_ns_ < lossy_ns;
  return hurried ? answer_time_.timeout_ns(attempts_) : std::max(answer_time_.timeout_ns(0), unhurried_ns);
}

void NackSender::send_heartbeat() {
  ++heartbeat_id_;
  heartbeat_id_ += heartbeat_id_ == 0 ? 1U : 0U;
  heartbeat_ns_ = core_.now_ns;
  echo_wanted_ = true;
  const Heartbeat heartbeat{Heartbeat::ack_wanted, heartbeat_id_, wrap(core_.out.sent())};
  core_.courier.post(-1, Type::heartbeat, body(heartbeat));
  ++core_.statistics.heartbeats_sent;
}

void NackSender::lose_silent_members() {
  for (int member = 0; member < core_.size; ++member) {
    if (!is_behind(member) || !owes_answer(member)) continue;
    if (core_.lose_if_silent(member, std::max(watched_since_ns_, polled_ns_[static_cast<std::size_t>(member)]))) break;
  }
}

/// Tells members how far this one has sent while packets are in transit and no new ones can be sent: a member that has
/// lost the last packet learns of it only from this.
std::int64_t NackSender::watch_receivers() {
  const OutStream& out = core_.out;
  if (out.base() >= out.sent()) {
    attempts_ = 0;
    watched_since_ns_ = 0;
    return never;
  }
  if (out.base() > watched_base_ || watched_since_ns_ == 0) {
    watched_base_ = out.base();
    watched_since_ns_ = core_.now_ns;
    attempts_ = 0;
  }
  if (out.may_send()) return never;
  const std::int64_t due = std::max({core_.sent_ns, heartbeat_ns_, watched_since_ns_}) + patience_ns();
  if (core_.now_ns < due) return due;
  send_heartbeat();
  // The tree may have a hole, which is a member that is late or gone. Then every member is asked directly.
  if (++attempts_ > 3) {
    poll_directly();
    lose_silent_members();
  }
  return core_.now_ns + patience_ns();
}

std::int64_t NackSender::tick() {
  std::int64_t next = never;
  for (const auto& [repair, due_ns] : repairs_) next = std::min(next, due_ns);
  return std::min(next, watch_receivers());
}

}  // namespace antiphon::multicast
