// SPDX-License-Identifier: Apache-2.0
#include "multicast/lanes.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "antiphon/slot.hpp"

#include "job/settings.hpp"
#include "job/world.hpp"

namespace antiphon::mpi {

namespace {

/// Sends of at most this size are copied, so that the sender need not wait for the slowest member's acknowledgement.
constexpr std::int64_t most_copied_bytes = 65536;
/// Returns how many bytes concurrent senders may together have under way. A switch port holds little more, where all
/// senders meet, or where a fast sender meets a slower link between switches. Fast links need more, and have it: the
/// value is what the link carries in 0.5 ms, about as long as acknowledgements take.
std::int64_t port_bytes() { return std::max<std::int64_t>(65536, world.settings.link_bits_per_s / 8 / 2000); }

/// With several groups, a rank sleeps on one of them at most this long.
constexpr std::int64_t several_patience_ns = 200'000;

bool is_multicast(const Op& op) { return op.group >= 0; }

/// Returns how many pieces of one operation may be posted and not complete.
std::size_t most_posted(const Op& op) {
  const std::int64_t window =
      op.cut.window > 0 ? std::min<std::int64_t>(op.cut.window, Progress::max_window) : Progress::max_window;
  return static_cast<std::size_t>(std::min(op.pieces(), window));
}

}  // namespace

MulticastLanes::MulticastLanes(const Schedule& schedule, int rank, MulticastGroups& groups, int senders)
    : schedule_(schedule), rank_(rank), senders_(senders), parts_(schedule.ops().size(), MulticastPart::fan_out),
      lane_of_(schedule.ops().size(), -1), states_(schedule.ops().size()), wanted_(schedule.ops().size()) {
  for (const auto& members : schedule.groups()) groups_.push_back(&groups.of(members));
  open_.resize(groups_.size());
  std::size_t most = 0;
  for (OpId id = 0; id < schedule.ops().size(); ++id) {
    const Op& op = schedule.ops()[id];
    if (!is_multicast(op)) continue;
    add_to_lane(id);
    most += most_posted(op);
    const std::size_t followers = group_of(id).roles().followers.size();
    most_messages_ += most_posted(op) * (followers + 1);
  }
  ended_.reserve(most);
  for (Lane& lane : lanes_) {
    std::size_t room = 0;
    for (const OpId id : lane.ops) room += most_posted(schedule.ops()[id]);
    lane.posted.resize(std::max<std::size_t>(room, 1));
  }
}

MulticastPart MulticastLanes::part_of(const Op& op) const {
  const auto group = static_cast<std::size_t>(op.group);
  if (!open_[group]) return MulticastPart::fan_out;
  const MulticastRoles& roles = groups_[group]->roles();
  if (op.kind == OpKind::multicast) return roles.leads ? MulticastPart::send : MulticastPart::hand_in;
  if (!roles.leads) return MulticastPart::take;
  return roles.leaders[static_cast<std::size_t>(roles.leader_index(op.peer))] == rank_ ? MulticastPart::relay
                                                                                       : MulticastPart::receive;
}

void MulticastLanes::add_to_lane(OpId id) {
  const Op& op = schedule_.ops()[id];
  MulticastGroup& group = group_of(id);
  const MulticastRoles& roles = group.roles();
  if (!roles.leads) return;
  const int sender = roles.leader_index(op.kind == OpKind::multicast ? rank_ : op.peer);
  const bool own = roles.leaders[static_cast<std::size_t>(sender)] == rank_;
  auto lane = std::find_if(lanes_.begin(), lanes_.end(),
                           [&](const Lane& l) { return l.group == &group && l.sender == sender; });
  if (lane == lanes_.end()) lane = lanes_.insert(lanes_.end(), {&group, sender, own, {}, 0, {}, 0, 0, {}, 0});
  lane->ops.push_back(id);
  lane_of_[id] = static_cast<int>(lane - lanes_.begin());
  states_[id].at.resize(most_posted(op));
  if (!own && roles.followers.empty()) find_wanted(id);
}

/// A message that comes whole into scratch memory need not bring the parts that no operation reads: the receivers of an
/// aggregated scatter take only their own blocks.
void MulticastLanes::find_wanted(OpId id) {
  const Op& op = schedule_.ops()[id];
  if (op.to.space != Space::scratch || op.pieces() != 1 || op.encoded || op.to.bytes == 0) return;
  const std::int64_t begin = op.to.offset_bytes;
  const std::int64_t end = begin + op.to.bytes;
  std::vector<Range> read;
  for (OpId other = id + 1; other < schedule_.ops().size(); ++other) {
    const Op& reader = schedule_.ops()[other];
    for (const Range& range : {reader.from, reader.kind == OpKind::reduce ? reader.to : Range{}}) {
      if (range.space != Space::scratch || range.bytes == 0) continue;
      const std::int64_t from = std::max(range.offset_bytes, begin);
      const std::int64_t to = std::min(range.offset_bytes + range.bytes, end);
      if (from < to) read.push_back({Space::scratch, from - begin, to - from});
    }
  }
  std::int64_t bytes = 0;
  std::sort(read.begin(), read.end(), [](const Range& a, const Range& b) { return a.offset_bytes < b.offset_bytes; });
  for (std::size_t i = 0; i < read.size(); ++i) {
    bytes += read[i].bytes;
    if (i > 0 && read[i - 1].offset_bytes + read[i - 1].bytes > read[i].offset_bytes) return;  // parts must be disjoint
  }
  if (bytes == op.to.bytes) return;
  parts_wanted_.reserve(std::max(parts_wanted_.capacity(), read.size()));
  wanted_[id] = std::move(read);
  if (wanted_[id].empty()) wanted_[id].push_back({Space::scratch, 0, 0});
}

void MulticastLanes::begin() {
  end();
  for (std::size_t i = 0; i < groups_.size(); ++i) open_[i] = groups_[i]->begin_run();
  running_ = true;
  for (OpId id = 0; id < schedule_.ops().size(); ++id) {
    const Op& op = schedule_.ops()[id];
    if (!is_multicast(op)) continue;
    parts_[id] = part_of(op);
    states_[id].next_piece = 0;
    states_[id].ready = 0;
  }
  for (Lane& lane : lanes_) {
    lane.at = lane.first = lane.count = lane.seen = 0;
    lane.length.reset();
  }
  ended_.clear();
  next_ended_ = 0;
  posted_ = waiting_ = lengths_ = 0;
}

void MulticastLanes::end() {
  if (!std::exchange(running_, false)) return;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (open_[i]) groups_[i]->end_run();
  }
}

void MulticastLanes::ready(const Progress::Piece& piece, std::span<std::byte> at) {
  Waiting& state = states_[piece.op];
  state.ready |= std::uint64_t{1} << (piece.index - state.next_piece);
  state.at[static_cast<std::size_t>(piece.index) % state.at.size()] = at;
  ++waiting_;
  flush(lanes_[static_cast<std::size_t>(lane_of_[piece.op])]);
}

void MulticastLanes::flush(Lane& lane) {
  while (lane.at < lane.ops.size()) {
    const OpId id = lane.ops[lane.at];
    Waiting& state = states_[id];
    if ((state.ready & 1) == 0) return;
    const Progress::Piece piece{id, state.next_piece};
    const auto at = state.at[static_cast<std::size_t>(piece.index) % state.at.size()];
    if (schedule_.ops()[id].encoded && !lane.own && !knows_length(lane, at)) return;
    lane.posted[(lane.first + lane.count++) % lane.posted.size()] = post(lane, piece, at);
    ++posted_;
    --waiting_;
    state.ready >>= 1;
    if (++state.next_piece == schedule_.ops()[id].pieces()) ++lane.at;
  }
}

/// Tells whether the length of the frame that comes next in the lane is here, in its slot; awaits it if not.
bool MulticastLanes::knows_length(Lane& lane, std::span<std::byte> at) {
  multicast::Group& transport = lane.group->transport();
  if (!lane.length) {
    lane.length = transport.receive(lane.sender, at.first(slot::length_bytes));
    ++lengths_;
  }
  if (!broken_.empty() || !transport.done(*lane.length)) return false;
  const std::int64_t length = slot::frame_length(at.data());
  if (!slot::holds(static_cast<std::int64_t>(at.size()), length)) {
    broken_ = "a frame of " + std::to_string(length) + " bytes was announced by member " + std::to_string(lane.sender) +
              ", which has room for " + std::to_string(at.size()) + " at most";
    return false;
  }
  lane.length.reset();
  --lengths_;
  return true;
}

MulticastLanes::Posted MulticastLanes::send(Lane& lane, const Progress::Piece& piece, std::span<std::byte> at) {
  multicast::Group& transport = lane.group->transport();
  multicast::SendOptions options;
  options.copy = static_cast<std::int64_t>(at.size()) <= most_copied_bytes;
  options.concurrent = std::min(senders_, transport.size());
  options.window_packets = std::max(4, static_cast<int>(port_bytes() / transport.payload_bytes()) / options.concurrent);
  if (!schedule_.ops()[piece.op].encoded) return {piece, transport.send(at, options), {}};
  const auto frame_bytes = static_cast<std::size_t>(slot::frame_length(at.data()));
  const multicast::Ticket length = transport.send(at.first(slot::length_bytes), options);
  return {piece, transport.send(at.subspan(slot::length_bytes, frame_bytes), options), length};
}

MulticastLanes::Posted MulticastLanes::post(Lane& lane, const Progress::Piece& piece, std::span<std::byte> at) {
  if (lane.own) return send(lane, piece, at);
  multicast::Group& transport = lane.group->transport();
  if (schedule_.ops()[piece.op].encoded) {
    const auto frame_bytes = static_cast<std::size_t>(slot::frame_length(at.data()));
    return {piece, transport.receive(lane.sender, at.subspan(slot::length_bytes, frame_bytes)), {}};
  }
  const auto& wanted = wanted_[piece.op];
  if (wanted.empty()) return {piece, transport.receive(lane.sender, at), {}};
  parts_wanted_.clear();
  for (const Range& part : wanted) {
    if (part.bytes > 0)
      parts_wanted_.push_back({part.offset_bytes, at.subspan(static_cast<std::size_t>(part.offset_bytes),
                                                             static_cast<std::size_t>(part.bytes))});
  }
  return {piece, transport.receive(lane.sender, static_cast<std::int64_t>(at.size()), parts_wanted_), {}};
}

/// Collects messages in the order in which they were posted; followers count on that, too.
bool MulticastLanes::collect(Lane& lane) {
  const std::uint64_t changes = lane.group->transport().changes();
  if (changes == lane.seen) return false;
  lane.seen = changes;
  if (lane.length) flush(lane);
  bool any = false;
  while (lane.count > 0) {
    const Posted& next = lane.posted[lane.first];
    const multicast::Group& transport = lane.group->transport();
    if (!transport.done(next.ticket) || (next.length && !transport.done(*next.length))) break;
    ended_.push_back(next.piece);
    lane.first = (lane.first + 1) % lane.posted.size();
    --lane.count;
    --posted_;
    any = true;
  }
  return any;
}

bool MulticastLanes::poll(std::int64_t patience_ns) {
  if (posted_ + lengths_ == 0) return false;
  bool any = false;
  for (int turn = 0; turn < 2 && !any; ++turn) {
    for (Lane& lane : lanes_) {
      if (waits(lane)) any = collect(lane) || any;
    }
    if (any || turn > 0) break;
    // A group has several lanes but needs to advance only once. While the rank sleeps on one group, it ignores the
    // others.
    const MulticastGroup* moved = nullptr;
    for (const Lane& lane : lanes_) {
      if (waits(lane) && moved != nullptr && lane.group != moved)
        patience_ns = std::min(patience_ns, several_patience_ns);
      if (waits(lane)) moved = lane.group;
    }
    moved = nullptr;
    for (Lane& lane : lanes_) {
      if (!waits(lane) || lane.group == moved) continue;
      lane.group->transport().progress(patience_ns);
      moved = lane.group;
    }
  }
  return any;
}

bool MulticastLanes::next(Progress::Piece& piece) {
  if (next_ended_ == ended_.size()) {
    ended_.clear();
    next_ended_ = 0;
    return false;
  }
  piece = ended_[next_ended_++];
  return true;
}

const std::string* MulticastLanes::why_not() const {
  const auto shut = std::find(open_.begin(), open_.end(), false);
  return shut == open_.end() ? nullptr : &groups_[static_cast<std::size_t>(shut - open_.begin())]->reason();
}

std::int64_t MulticastLanes::lost_after_ns() const { return world.settings.multicast_timeout_ms * 1'000'000; }

std::string MulticastLanes::failure() const {
  if (!broken_.empty()) return broken_;
  for (const Lane& lane : lanes_) {
    if (!waits(lane)) continue;
    if (const auto failure = lane.group->transport().failure()) return failure->text;
  }
  return "";
}

}  // namespace antiphon::mpi
