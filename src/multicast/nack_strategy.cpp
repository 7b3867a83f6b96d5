// SPDX-License-Identifier: Apache-2.0
// Receivers find what they miss and ask the sender for it. Acknowledgements are gathered along a tree and only move the
// sender's window on, so the sender hears of `tree_arity` members however many there are.
#include <deque>
#include <map>

#include "multicast/core.hpp"
#include "multicast/tree.hpp"

namespace antiphon::multicast {

namespace {

constexpr std::size_t ranges_asked = 64;
constexpr std::size_t again_at_once = 32;
constexpr int polls_at_once = 64;
/// A packet that is overtaken by others is not lost; what comes within this time is not asked for.
constexpr std::int64_t reorder_ns = 30'000;
/// Where nobody waits for acknowledgements the first heartbeat may come so late: what it asks of all members costs them
/// more than a short message. Not if one of them has missed something less than `lossy_ns` ago.
constexpr std::int64_t unhurried_ns = 10'000'000, lossy_ns = 1'000'000'000;

class NackStrategy final : public Reliability {
 public:
  explicit NackStrategy(Core& core)
      : core_(core), receivers_(static_cast<std::size_t>(core.size)), repair_time_(core.options()),
        answer_time_(core.options()) {
    for (int sender = 0; sender < core.size; ++sender) {
      const Tree tree{sender, core.size, core.options().tree_arity};
      Receiver& r = receivers_[static_cast<std::size_t>(sender)];
      if (sender != core.index) r.parent = tree.parent(core.index);
      for (const int child : tree.children(core.index)) r.children.push_back({child, 0});
    }
    own_.assign(static_cast<std::size_t>(core.size), 0);
    repaired_.resize(static_cast<std::size_t>(core.window_packets));
  }

  void data(int sender, const Data& data, InStream::Outcome) override {
    Receiver& r = receiver(sender);
    if ((data.flags & Data::ack_wanted) != 0) want_ack(r, unwrap(data.position, in(sender).base()) + 1);
    activate(sender);
  }

  void changed(int sender) override { activate(sender); }

  void heartbeat(int sender, const Heartbeat& heartbeat) override {
    Receiver& r = receiver(sender);
    if ((heartbeat.flags & Heartbeat::direct) != 0) {
      core_.courier.post(
          sender, Type::ack,
          body(Ack{Ack::direct, heartbeat.id, {{static_cast<std::uint16_t>(sender), wrap(in(sender).base())}}}));
      ++core_.statistics.acks_sent;
    }
    if ((heartbeat.flags & Heartbeat::ack_wanted) != 0) {
      want_ack(r, unwrap(heartbeat.sent, in(sender).base()));
      r.answer_now = true;
      r.echo = heartbeat.id;
    }
    activate(sender);
  }

  void ack(int from, const Ack& ack) override {
    ++core_.statistics.acks_received;
    if (ack.echo != 0 && ack.echo == heartbeat_id_ && echo_wanted_) {
      answer_time_.sample(core_.now_ns - heartbeat_ns_);
      core_.statistics.round_trip_ns = answer_time_.smoothed_ns();
      echo_wanted_ = false;
    }
    for (const Ack::Entry& entry : ack.entries) {
      if (entry.sender >= core_.size) continue;
      if (entry.sender == core_.index && (ack.flags & Ack::direct) != 0) {
        heard_from(from, entry.upto);
        continue;
      }
      const Position near = entry.sender == core_.index ? core_.out.base() : in(entry.sender).base();
      for (Child& child : receiver(entry.sender).children) {
        if (child.member == from) child.upto = std::max(child.upto, unwrap(entry.upto, near));
      }
      if (entry.sender == core_.index) {
        move_window();
      } else {
        activate(entry.sender);
      }
    }
  }

  void nack(int from, const Nack& nack) override {
    ++core_.statistics.nacks_received;
    heard_from(from, nack.upto);
    if (!nack.ranges.empty()) missed_ns_ = core_.now_ns;
    const Position base = core_.out.base(), sent = core_.out.sent();
    for (const Nack::Range& range : nack.ranges) {
      const Position first = unwrap(range.first, base);
      const Position end = std::min(sent, first + std::int64_t{range.packets});
      for (Position position = std::max(first, base); position < end; ++position) ask_repair(position, from);
    }
  }

  void receipt(int, const Receipt&) override {}
  void sent() override { attempts_ = 0; }
  bool send_again() override;
  std::int64_t tick() override;

 private:
  struct Child {
    int member;
    Position upto;
  };
  /// What was missing below `upto` (and not below the one before) was asked for.
  struct Asked {
    Position upto;
    std::int64_t first_ns, at_ns;
    int attempts;
  };
  struct Receiver {
    int parent = -1;
    std::vector<Child> children;
    bool active = false;
    Position reported = 0;
    std::deque<Position> ack_wanted;  ///< ascending: to be told when this part of the tree is there
    bool answer_now = false;
    std::uint32_t echo = 0;
    std::int64_t ask_at = never;  ///< when to ask for what has been found missing
    std::deque<Asked> asked;      ///< what has been asked for, oldest first; the runs follow one another
    [[nodiscard]] Position asked_upto(Position base) const {
      return asked.empty() ? base : std::max(base, asked.back().upto);
    }
  };
  /// Whose piece, and to whom: a member, or to_everybody.
  using Wish = std::pair<Position, int>;
  static constexpr int to_everybody = -1;
  struct Repaired {
    Position position = -1;
    int to = to_everybody;
    bool went_to_all = false;
    std::int64_t at_ns = 0;
  };

  InStream& in(int sender) { return core_.in[static_cast<std::size_t>(sender)]; }
  Receiver& receiver(int sender) { return receivers_[static_cast<std::size_t>(sender)]; }
  Repaired& repaired(Position position) { return repaired_[static_cast<std::size_t>(position) % repaired_.size()]; }
  void activate(int sender) {
    if (sender == core_.index || receiver(sender).active) return;
    receiver(sender).active = true;
    active_.push_back(sender);
  }
  /// Each of them counts: who has the end already may have members behind it in the tree that have just got half of it.
  static void want_ack(Receiver& r, Position upto) {
    if (upto > r.reported && (r.ack_wanted.empty() || upto > r.ack_wanted.back())) r.ack_wanted.push_back(upto);
  }
  void heard_from(int member, std::uint32_t upto);
  void move_window();
  void ask_repair(Position position, int from);
  void acknowledge(int sender);
  std::int64_t look_for_gaps(int sender);
  void ask(int sender, const std::vector<InStream::Range>& ranges);
  void settle(int sender);
  [[nodiscard]] std::int64_t backoff();
  std::int64_t watch_receivers();
  void poll_directly();
  /// Until the next heartbeat. Who has not answered several is late (it computes) or gone: no need to hurry.
  [[nodiscard]] std::int64_t patience_ns() const {
    if (attempts_ > 8) return core_.options().lost_after_ns / 12;
    const bool hurried = attempts_ > 0 || core_.out.awaited() || core_.now_ns - missed_ns_ < lossy_ns;
    return hurried ? answer_time_.timeout_ns(attempts_) : std::max(answer_time_.timeout_ns(0), unhurried_ns);
  }

  Core& core_;
  std::vector<Receiver> receivers_;  ///< by sender; one's own entry holds the children as a sender
  std::vector<int> active_;
  std::vector<Position> own_;             ///< how far members say they are themselves
  std::map<Wish, std::int64_t> repairs_;  ///< and when it is due; to everybody or to members one by one
  std::vector<Repaired> repaired_;
  RoundTrip repair_time_, answer_time_;
  std::uint32_t heartbeat_id_ = 0;
  std::int64_t heartbeat_ns_ = 0;
  bool echo_wanted_ = false;
  int attempts_ = 0;  ///< heartbeats without any member having got further
  int next_polled_ = 0;
  Position watched_base_ = 0;
  std::int64_t watched_since_ns_ = 0;
  std::int64_t missed_ns_ = -lossy_ns;  ///< when a member last asked for something
};

// --- The receiver's side ---

/// Tells one's parent how far this part of the tree is: when the sender asks, or when a quarter of the window has come
/// since.
void NackStrategy::acknowledge(int sender) {
  Receiver& r = receiver(sender);
  Position upto = in(sender).base();
  for (const Child& child : r.children) upto = std::min(upto, child.upto);
  bool reached = false;
  for (; !r.ack_wanted.empty() && r.ack_wanted.front() <= upto; r.ack_wanted.pop_front())
    reached = reached || r.ack_wanted.front() > r.reported;
  if (!r.answer_now && !reached && upto - r.reported < std::max(1, core_.window_packets / 4)) return;
  core_.courier.post(r.parent, Type::ack,
                     body(Ack{0, r.answer_now ? r.echo : 0, {{static_cast<std::uint16_t>(sender), wrap(upto)}}}));
  ++core_.statistics.acks_sent;
  r.reported = std::max(r.reported, upto);
  r.answer_now = false;
}

/// Random, and longer in larger groups: the first to ask makes the sender repair for all, and the others need not.
std::int64_t NackStrategy::backoff() {
  const std::int64_t spread = core_.options().least_retry_ns * std::min(core_.size - 2, 256) / 16;
  return reorder_ns + (spread > 0 ? static_cast<std::int64_t>(core_.random() % static_cast<std::uint64_t>(spread)) : 0);
}

void NackStrategy::ask(int sender, const std::vector<InStream::Range>& ranges) {
  Nack nack{0, wrap(in(sender).base()), {}};
  for (const auto& range : ranges)
    nack.ranges.push_back({wrap(range.first), static_cast<std::uint32_t>(range.packets)});
  core_.courier.post(sender, Type::nack, body(nack));
  ++core_.statistics.nacks_sent;
}

/// Forgets what has come of what was asked for.
void NackStrategy::settle(int sender) {
  Receiver& r = receiver(sender);
  bool first = true;
  while (!r.asked.empty() && r.asked.front().upto <= in(sender).base()) {
    // From the first time it was asked for: where repairs wait in a full port, whoever counts from the last asks again
    // and again, and fills the port with more of the same. Those behind the first may have been there for long.
    if (first) repair_time_.sample(core_.now_ns - r.asked.front().first_ns);
    if (core_.statistics.round_trip_ns == 0) core_.statistics.round_trip_ns = repair_time_.smoothed_ns();
    first = false;
    r.asked.pop_front();
  }
}

std::int64_t NackStrategy::look_for_gaps(int sender) {
  Receiver& r = receiver(sender);
  const InStream& stream = in(sender);
  settle(sender);
  const Position limit = std::min(stream.seen(), stream.posted());
  if (stream.base() >= limit) {
    if (r.ask_at != never) ++core_.statistics.nacks_suppressed;
    r.ask_at = never;
    r.asked.clear();
    return never;
  }
  const std::int64_t now = core_.now_ns;
  if (limit > r.asked_upto(stream.base()) && r.ask_at == never) r.ask_at = now + backoff();
  if (now >= r.ask_at) {
    r.ask_at = never;
    const auto ranges = stream.missing(r.asked_upto(stream.base()), limit, ranges_asked);
    const Position upto = ranges.size() == ranges_asked ? ranges.back().first + ranges.back().packets : limit;
    if (ranges.empty() && !r.asked.empty()) {
      r.asked.back().upto = upto;  // nothing new is missing
    } else if (!ranges.empty()) {
      ask(sender, ranges);
      r.asked.push_back({upto, now, now, 1});
    }
  }
  // Each run by its own clock: what was asked for a moment ago is on its way.
  Position from = stream.base();
  std::int64_t next = r.ask_at;
  for (Asked& asked : r.asked) {
    std::int64_t due = asked.at_ns + repair_time_.timeout_ns(asked.attempts);
    if (now >= due) {
      const auto ranges = stream.missing(from, asked.upto, ranges_asked);
      if (!ranges.empty()) ask(sender, ranges);
      asked.at_ns = now;
      due = now + repair_time_.timeout_ns(++asked.attempts);
    }
    from = asked.upto;
    next = std::min(next, due);
  }
  return next;
}

// --- The sender's side ---

void NackStrategy::heard_from(int member, std::uint32_t upto) {
  Position& own = own_[static_cast<std::size_t>(member)];
  own = std::max(own, unwrap(upto, core_.out.base()));
  move_window();
}

/// All have what every part of the tree has, or what every single member of that part has said itself.
void NackStrategy::move_window() {
  const Tree tree{core_.index, core_.size, core_.options().tree_arity};
  std::vector<Child>& branches = receiver(core_.index).children;
  std::vector<Position> singly(branches.size(), std::numeric_limits<Position>::max());
  for (int member = 0; member < core_.size; ++member) {
    if (member == core_.index) continue;
    Position& least = singly[static_cast<std::size_t>(tree.branch(member))];
    least = std::min(least, own_[static_cast<std::size_t>(member)]);
  }
  Position all = std::numeric_limits<Position>::max();
  for (std::size_t i = 0; i < branches.size(); ++i) all = std::min(all, std::max(branches[i].upto, singly[i]));
  core_.out.acknowledged(all);
  repairs_.erase(repairs_.begin(), repairs_.lower_bound({core_.out.base(), to_everybody}));
}

void NackStrategy::ask_repair(Position position, int from) {
  const Repaired& last = repaired(position);
  const std::int64_t too_soon =
      std::max({core_.options().least_retry_ns, repair_time_.smoothed_ns() / 2, answer_time_.smoothed_ns() / 2});
  if (last.position == position && (last.to < 0 || last.to == from) && core_.now_ns - last.at_ns < too_soon)
    return;  // on its way
  if (last.position == position && last.went_to_all) {
    // What is sent to all does not reach this one, it seems.
    repairs_.emplace(Wish{position, from}, core_.now_ns);
    return;
  }
  const auto found = repairs_.lower_bound({position, to_everybody});
  if (found != repairs_.end() && found->first.first == position) {
    if (found->first.second == to_everybody || found->first.second == from) return;
    repairs_.emplace(Wish{position, to_everybody}, found->second);  // more than one misses it
    repairs_.erase(found);
    return;
  }
  // Others may miss it too: a moment for their asking.
  const std::int64_t wait = core_.size > 2 ? core_.options().least_retry_ns / 2 : 0;
  repairs_.emplace(Wish{position, from}, core_.now_ns + wait);
}

bool NackStrategy::send_again() {
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

void NackStrategy::poll_directly() {
  const Heartbeat poll{Heartbeat::direct, heartbeat_id_, wrap(core_.out.sent())};
  int polled = 0;
  for (int i = 0; i < core_.size && polled < polls_at_once; ++i) {
    const int member = (next_polled_ + i) % core_.size;
    if (member == core_.index || own_[static_cast<std::size_t>(member)] >= core_.out.sent()) continue;
    core_.courier.post(member, Type::heartbeat, body(poll));
    ++core_.statistics.polls_sent;
    ++polled;
    if (polled == polls_at_once) next_polled_ = (member + 1) % core_.size;
  }
}

/// While packets are under way and nothing new can be sent: says how far it is, so that who has lost the last packet
/// learns of it.
std::int64_t NackStrategy::watch_receivers() {
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
  ++heartbeat_id_;
  heartbeat_id_ += heartbeat_id_ == 0 ? 1U : 0U;
  heartbeat_ns_ = core_.now_ns;
  echo_wanted_ = true;
  core_.courier.post(-1, Type::heartbeat, body(Heartbeat{Heartbeat::ack_wanted, heartbeat_id_, wrap(out.sent())}));
  ++core_.statistics.heartbeats_sent;
  // The tree may have a hole (a member that is late or gone): then everybody is asked for itself.
  if (++attempts_ > 3) {
    poll_directly();
    for (int member = 0; member < core_.size; ++member) {
      if (member == core_.index || own_[static_cast<std::size_t>(member)] >= out.sent()) continue;
      if (core_.lose_if_silent(member, watched_since_ns_)) break;
    }
  }
  return core_.now_ns + patience_ns();
}

std::int64_t NackStrategy::tick() {
  std::int64_t next = never;
  for (std::size_t i = 0; i < active_.size();) {
    const int sender = active_[i];
    acknowledge(sender);
    const std::int64_t due = look_for_gaps(sender);
    next = std::min(next, due);
    if (due == never) {
      receiver(sender).active = false;
      active_[i] = active_.back();
      active_.pop_back();
    } else {
      ++i;
    }
  }
  for (const auto& [wish, due_ns] : repairs_) next = std::min(next, due_ns);
  return std::min(next, watch_receivers());
}

}  // namespace

std::unique_ptr<Reliability> make_nack_strategy(Core& core) { return std::make_unique<NackStrategy>(core); }

}  // namespace antiphon::multicast
