// SPDX-License-Identifier: Apache-2.0
#include "multicast/nack_receiver.hpp"

namespace antiphon::multicast {

namespace {

constexpr std::size_t ranges_asked = 64;
/// A packet that others overtake is not lost, so a member waits this long before it asks.
constexpr std::int64_t reorder_ns = 30'000;

/// Adds `upto` even if earlier positions wait: a member that has the latest may have members below it in the tree that
/// have just got an earlier one.
void want_ack(std::deque<Position>& wanted, Position reported, Position upto) {
  if (upto > reported && (wanted.empty() || upto > wanted.back())) wanted.push_back(upto);
}

}  // namespace

NackReceiver::NackReceiver(Core& core)
    : core_(core), senders_(static_cast<std::size_t>(core.size)), repair_time_(core.options()) {
  for (int sender = 0; sender < core.size; ++sender) {
    if (sender == core.index) continue;
    const Tree tree{sender, core.size, core.options().tree_arity};
    Sender& s = state(sender);
    s.parent = tree.parent(core.index);
    s.children = tree.children(core.index);
  }
}

void NackReceiver::data(int sender, const Data& data) {
  Sender& s = state(sender);
  if ((data.flags & Data::ack_wanted) != 0) {
    want_ack(s.ack_wanted, s.reported, unwrap(data.position, in(sender).base()) + 1);
  }
  activate(sender);
}

void NackReceiver::heartbeat(int sender, const Heartbeat& heartbeat) {
  Sender& s = state(sender);
  if ((heartbeat.flags & Heartbeat::direct) != 0) {
    const Ack own{Ack::direct, heartbeat.id, {{static_cast<std::uint16_t>(sender), wrap(in(sender).base())}}};
    core_.courier.post(sender, Type::ack, body(own));
    ++core_.statistics.acks_sent;
  }
  if ((heartbeat.flags & Heartbeat::ack_wanted) != 0) {
    want_ack(s.ack_wanted, s.reported, unwrap(heartbeat.sent, in(sender).base()));
    s.answer_now = true;
    s.echo = heartbeat.id;
  }
  activate(sender);
}

void NackReceiver::subtree_ack(int sender, int child, std::uint32_t upto) {
  note_subtree(state(sender).children, child, unwrap(upto, in(sender).base()));
  activate(sender);
}

void NackReceiver::activate(int sender) {
  if (sender == core_.index || state(sender).active) return;
  state(sender).active = true;
  active_.push_back(sender);
}

/// Tells the parent how far this part of the tree is, when the sender asks or after a quarter of the window.
void NackReceiver::acknowledge(int sender) {
  Sender& s = state(sender);
  Position upto = in(sender).base();
  for (const Child& child : s.children) upto = std::min(upto, child.upto);
  bool reached = false;
  for (; !s.ack_wanted.empty() && s.ack_wanted.front() <= upto; s.ack_wanted.pop_front())
    reached = reached || s.ack_wanted.front() > s.reported;
  if (!s.answer_now && !reached && upto - s.reported < std::max(1, core_.window_packets / 4)) return;
  core_.courier.post(s.parent, Type::ack,
                     body(Ack{0, s.answer_now ? s.echo : 0, {{static_cast<std::uint16_t>(sender), wrap(upto)}}}));
  ++core_.statistics.acks_sent;
  s.reported = std::max(s.reported, upto);
  s.answer_now = false;
}

/// Returns a random wait, longer in larger groups: the first to ask makes the sender repair for all others too.
std::int64_t NackReceiver::backoff() {
  const std::int64_t spread = core_.options().least_retry_ns * std::min(core_.size - 2, 256) / 16;
  return reorder_ns + (spread > 0 ? static_cast<std::int64_t>(core_.random() % static_cast<std::uint64_t>(spread)) : 0);
}

void NackReceiver::ask(int sender, const std::vector<InStream::Range>& ranges) {
  Nack nack{0, wrap(in(sender).base()), {}};
  for (const auto& range : ranges)
    nack.ranges.push_back({wrap(range.first), static_cast<std::uint32_t>(range.packets)});
  core_.courier.post(sender, Type::nack, body(nack));
  ++core_.statistics.nacks_sent;
}

/// Closes the questions whose packets have all come.
void NackReceiver::settle(int sender) {
  Sender& s = state(sender);
  bool first = true;
  while (!s.asked.empty() && s.asked.front().upto <= in(sender).base()) {
    // The sample starts at the first question. If repairs wait in a full port, a sample from the last one is too short,
    // and early repeats fill the port further. Later runs may have come long ago, so they give no sample.
    if (first) repair_time_.sample(core_.now_ns - s.asked.front().first_ns);
    if (core_.statistics.round_trip_ns == 0) core_.statistics.round_trip_ns = repair_time_.smoothed_ns();
    first = false;
    s.asked.pop_front();
  }
}

std::int64_t NackReceiver::look_for_gaps(int sender) {
  Sender& s = state(sender);
  const InStream& stream = in(sender);
  settle(sender);
  const Position limit = std::min(stream.seen(), stream.posted());
  if (stream.base() >= limit) {
    if (s.ask_at != never) ++core_.statistics.nacks_suppressed;
    s.ask_at = never;
    s.asked.clear();
    return never;
  }
  if (limit > s.asked_upto(stream.base()) && s.ask_at == never) s.ask_at = core_.now_ns + backoff();
  if (core_.now_ns >= s.ask_at) ask_for_new(sender, limit);
  return ask_again(sender);
}

/// Asks for missing packets below `limit` that no open question covers.
void NackReceiver::ask_for_new(int sender, Position limit) {
  Sender& s = state(sender);
  s.ask_at = never;
  const auto ranges = in(sender).missing(s.asked_upto(in(sender).base()), limit, ranges_asked);
  const Position upto = ranges.size() == ranges_asked ? ranges.back().first + ranges.back().packets : limit;
  if (ranges.empty() && !s.asked.empty()) {
    s.asked.back().upto = upto;  // nothing new is missing
  } else if (!ranges.empty()) {
    ask(sender, ranges);
    s.asked.push_back({upto, core_.now_ns, core_.now_ns, 1});
  }
}

/// Repeats the questions that are due. Each has its own clock, because the answer to a recent one is on its way.
std::int64_t NackReceiver::ask_again(int sender) {
  Sender& s = state(sender);
  Position from = in(sender).base();
  std::int64_t next = s.ask_at;
  for (Asked& asked : s.asked) {
    std::int64_t due = asked.at_ns + repair_time_.timeout_ns(asked.attempts);
    if (core_.now_ns >= due) {
      const auto ranges = in(sender).missing(from, asked.upto, ranges_asked);
      if (!ranges.empty()) ask(sender, ranges);
      asked.at_ns = core_.now_ns;
      due = core_.now_ns + repair_time_.timeout_ns(++asked.attempts);
    }
    from = asked.upto;
    next = std::min(next, due);
  }
  return next;
}

std::int64_t NackReceiver::tick() {
  std::int64_t next = never;
  for (std::size_t i = 0; i < active_.size();) {
    const int sender = active_[i];
    acknowledge(sender);
    const std::int64_t due = look_for_gaps(sender);
    next = std::min(next, due);
    if (due == never) {
      state(sender).active = false;
      active_[i] = active_.back();
      active_.pop_back();
    } else {
      ++i;
    }
  }
  return next;
}

}  // namespace antiphon::multicast
