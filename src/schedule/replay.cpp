// SPDX-License-Identifier: Apache-2.0
#include "antiphon/replay.hpp"

#include <algorithm>
#include <memory>
#include <queue>
#include <tuple>

#include "antiphon/error.hpp"
#include "antiphon/index.hpp"
#include "antiphon/progress.hpp"
#include "schedule/matching.hpp"

namespace antiphon {

namespace {

/// Copies the schedule with each operation in one piece.
Schedule uncut(const Schedule& schedule) {
  Schedule whole;
  whole.set_scratch_bytes(schedule.scratch_bytes());
  for (const auto& members : schedule.groups()) whole.group(members);
  for (Op op : schedule.ops()) {
    op.cut = {};
    if (op.kind == OpKind::encode) op.to.bytes = encoded_bytes(op.from.bytes, {});
    if (op.kind == OpKind::decode) op.from.bytes = encoded_bytes(op.to.bytes, {});
    whole.add(op, schedule.deps(op));
  }
  return whole;
}

class Simulation {
 public:
  Simulation(std::span<const Schedule> schedules, Clock clock, int ranks_per_node, std::int64_t max_pieces)
      : clock_(clock), ranks_per_port_(clock == Clock::rounds ? 1 : std::max(ranks_per_node, 1)),
        max_pieces_(max_pieces) {
    for (const Schedule& s : schedules) schedules_.push_back(clock == Clock::rounds ? uncut(s) : s);
    for (const Schedule& s : schedules_) progress_.push_back(std::make_unique<Progress>(s));
    for (const Schedule& s : schedules_) {
      for (const Op& op : s.ops()) only_tokens_ = only_tokens_ && (!op.is_message() || op.bytes() == 0);
    }
    ordinals_.assign(schedules_.size(), 0);
    const std::size_t ports = schedules_.size() / at(ranks_per_port_) + 1;
    sending_.assign(ports, false);
    receiving_.assign(ports, false);
  }

  Replay run() {
    for (int rank = 0; rank < size(); ++rank) advance(rank);
    start_pairs();
    while (!under_way_.empty()) {
      now_ = under_way_.top().end;
      // Everything that ends at one time frees its ports before anything new takes one.
      while (!under_way_.empty() && under_way_.top().end == now_) {
        const Pair pair = under_way_.top().pair;
        under_way_.pop();
        finish(pair);
      }
      start_pairs();
    }
    check_end();
    if (clock_ == Clock::rounds) {
      // Tokens that follow the last message belong to its round.
      for (Transfer& t : transfers_) t.begin = std::min(t.begin, now_ - 1);
    }
    return {std::move(transfers_), now_};
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  /// One side of a message, and when it was posted: the time, and its number among its rank's messages.
  struct Posted {
    Progress::Piece piece;
    std::int64_t time = 0;
    std::int64_t ordinal = 0;
    std::size_t multicast = none;  ///< of a multicast's send: index into multicasts_
  };
  struct Pair {
    int from = 0;
    int to = 0;
    Posted send, recv;
    std::int64_t bytes = 0;
    std::size_t multicast = none;  ///< index into multicasts_, which has its other receivers
    bool holds_ports = false;
    /// Sends leave in the order in which they were posted, even if a later receiver was ready first.
    bool operator<(const Pair& other) const {
      return std::tie(send.time, send.ordinal, from) < std::tie(other.send.time, other.send.ordinal, other.from);
    }
  };
  struct UnderWay {
    std::int64_t end = 0;
    std::uint64_t order = 0;
    Pair pair;
    bool operator<(const UnderWay& other) const { return std::tie(other.end, other.order) < std::tie(end, order); }
  };
  struct Receiver {
    int rank = 0;
    Posted recv;
  };
  /// One piece on its way to a group: it leaves once, when the last receiver waits for it.
  struct Multicast {
    std::size_t expected = 0;
    std::vector<Receiver> receivers;
  };
  [[nodiscard]] int size() const { return static_cast<int>(schedules_.size()); }
  [[nodiscard]] const Op& op_of(int rank, const Progress::Piece& piece) const {
    return schedules_[at(rank)].ops()[piece.op];
  }
  [[nodiscard]] std::size_t port(int rank) const { return at(rank / ranks_per_port_); }

  /// Starts everything that the rank may start. Local operations end at once.
  void advance(int rank) {
    Progress& progress = *progress_[at(rank)];
    Progress::Piece piece;
    while (progress.next(piece)) {
      if (++pieces_ > max_pieces_)
        throw InvalidArgument("more than " + std::to_string(max_pieces_) + " pieces: too many to replay");
      const Op& op = op_of(rank, piece);
      if (op.kind == OpKind::multicast) multicast(rank, op, piece);
      else if (op.is_message()) post(rank, op, op.peer, {piece, now_, ++ordinals_[at(rank)]});
      else progress.complete(piece);
    }
  }

  void multicast(int rank, const Op& op, const Progress::Piece& piece) {
    const auto& members = schedules_[at(rank)].groups()[at(op.group)];
    Posted posted{piece, now_, ++ordinals_[at(rank)], multicasts_.size()};
    multicasts_.push_back(
        {members.size() - static_cast<std::size_t>(std::count(members.begin(), members.end(), rank)), {}});
    if (multicasts_.back().expected == 0) progress_[at(rank)]->complete(piece);
    for (const int member : members) {
      if (member != rank) post(rank, op, member, posted);
    }
  }

  void post(int rank, const Op& op, int peer, const Posted& posted) {
    if (peer < 0 || peer >= size()) {
      throw InvalidArgument("rank " + std::to_string(rank) + " names rank " + std::to_string(peer) +
                            ", which does not exist");
    }
    const bool send = op.kind != OpKind::recv;
    const int from = send ? rank : peer;
    const int to = send ? peer : rank;
    const auto other =
        matching_.match({from, to, op.tag, op.group >= 0}, send ? Side::send : Side::receive, [&] { return posted; });
    if (!other) return;
    const Posted& sent = send ? posted : *other;
    const Posted& received = send ? *other : posted;
    if (sent.multicast != none) {
      Multicast& all = multicasts_[sent.multicast];
      all.receivers.push_back({to, received});
      if (all.receivers.size() < all.expected) return;
    }
    waiting_.push_back(
        {from, to, sent, received, op_of(from, sent.piece).piece_size(sent.piece.index), sent.multicast});
  }

  /// Starts the waiting messages with free ports, in the order in which they were sent.
  void start_pairs() {
    const auto added = waiting_.begin() + static_cast<std::ptrdiff_t>(ordered_);
    std::sort(added, waiting_.end());
    std::inplace_merge(waiting_.begin(), added, waiting_.end());
    std::size_t kept = 0;
    for (Pair& pair : waiting_) {
      if (!start(pair)) waiting_[kept++] = pair;
    }
    waiting_.resize(kept);
    ordered_ = kept;
  }

  bool start(Pair& pair) {
    const Receiver one{pair.to, pair.recv};
    const auto receivers = receivers_of(pair, one);
    const auto needs_port = [&](const Receiver& r) { return crosses(pair.from, r.rank); };
    pair.holds_ports = pair.bytes > 0 && std::any_of(receivers.begin(), receivers.end(), needs_port);
    if (pair.holds_ports) {
      const auto busy = [&](const Receiver& r) { return needs_port(r) && receiving_[port(r.rank)]; };
      if (sending_[port(pair.from)] || std::any_of(receivers.begin(), receivers.end(), busy)) return false;
      set_ports(pair, true);
    }
    const std::int64_t takes = clock_ == Clock::rounds ? (pair.bytes > 0 || only_tokens_ ? 1 : 0)
                               : pair.holds_ports      ? pair.bytes
                                                       : 0;
    for (const Receiver& r : receivers) transfers_.push_back({pair.from, r.rank, pair.bytes, now_, now_ + takes});
    under_way_.push({now_ + takes, transfers_.size(), pair});
    return true;
  }

  void finish(const Pair& pair) {
    if (pair.holds_ports) set_ports(pair, false);
    const Receiver one{pair.to, pair.recv};
    progress_[at(pair.from)]->complete(pair.send.piece);
    for (const Receiver& r : receivers_of(pair, one)) progress_[at(r.rank)]->complete(r.recv.piece);
    advance(pair.from);
    for (const Receiver& r : receivers_of(pair, one)) advance(r.rank);
  }

  [[nodiscard]] bool crosses(int from, int to) const { return clock_ == Clock::rounds || port(from) != port(to); }

  /// `one` is the receiver of a message that is no multicast.
  [[nodiscard]] std::span<const Receiver> receivers_of(const Pair& pair, const Receiver& one) const {
    return pair.multicast == none ? std::span(&one, 1)
                                  : std::span<const Receiver>(multicasts_[pair.multicast].receivers);
  }

  void set_ports(const Pair& pair, bool taken) {
    sending_[port(pair.from)] = taken;
    const Receiver one{pair.to, pair.recv};
    for (const Receiver& r : receivers_of(pair, one)) {
      if (crosses(pair.from, r.rank)) receiving_[port(r.rank)] = taken;
    }
  }

  void check_end() const {
    for (std::size_t r = 0; r < progress_.size(); ++r) {
      if (!progress_[r]->done()) throw InvalidArgument("deadlock: rank " + std::to_string(r) + " cannot go on");
    }
  }

  Clock clock_;
  int ranks_per_port_;
  std::int64_t max_pieces_;
  bool only_tokens_ = true;
  std::int64_t pieces_ = 0;
  std::int64_t now_ = 0;
  std::vector<Schedule> schedules_;
  std::vector<std::unique_ptr<Progress>> progress_;
  Matching<Posted> matching_;
  std::vector<std::int64_t> ordinals_;  ///< by rank: the messages posted
  std::vector<Multicast> multicasts_;
  std::vector<Pair> waiting_;  ///< posted on both sides, not under way
  std::size_t ordered_ = 0;    ///< the length of the part of waiting_ that is in order
  std::priority_queue<UnderWay> under_way_;
  std::vector<bool> sending_, receiving_;
  std::vector<Transfer> transfers_;
};

}  // namespace

Replay replay(std::span<const Schedule> schedules, Clock clock, int ranks_per_node, std::int64_t max_pieces) {
  return Simulation(schedules, clock, ranks_per_node, max_pieces).run();
}

}  // namespace antiphon
