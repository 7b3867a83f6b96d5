// SPDX-License-Identifier: Apache-2.0
// Simulates the time of exchanges under the credit protocol: one rank a node, one switch, no processor time. A message
// goes in frames through its sender's link and through its receiver's port, each first in, first out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <vector>

#include "antiphon/advice.hpp"
#include "antiphon/credit.hpp"

namespace antiphon {

class CreditNetwork {
 public:
  explicit CreditNetwork(int size, double patience_s = 21e-3) : size_(size), patience_s_(patience_s) {}

  /// Runs one call, which all ranks begin at the same time. `problems` and `ways` are by rank. Returns how long the
  /// last rank took, in seconds; 0 if the ranks wait for each other for ever.
  double run(const std::vector<Problem>& problems, const std::vector<Way>& ways) {
    events_ = {};
    channels_.clear();
    now_s_ = 0;
    stalls = 0;
    ranks_.clear();
    for (int r = 0; r < size_; ++r) {
      const Way& way = ways[index(r)];
      ranks_.push_back({CreditExchange(r, size_, {}), std::vector<std::deque<Frame>>(index(size_)), r, false, 0, 0,
                        std::max(patience_s_, way.patience_s)});
      ranks_.back().protocol.reset(problems[index(r)].send_bytes, problems[index(r)].recv_bytes, way.steps,
                                   way.in_step);
    }
    for (int r = 0; r < size_; ++r) moved(r);
    double end_s = 0;
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_s_ = event.time_s;
      event.happen();
      if (!all_done()) end_s = now_s_;
      else return now_s_;
    }
    return all_done() ? end_s : 0;
  }

  static constexpr double link_bytes_per_s = 11.95e6;
  int stalls = 0;  ///< ranks that lost their patience in the last call

 private:
  using Action = CreditExchange::Action;
  using Kind = CreditExchange::Kind;
  static constexpr std::int64_t frame_bytes = 1448;
  static constexpr double latency_s = 60e-6;
  static constexpr std::int64_t header_bytes = 80;  ///< of a message

  struct Frame {
    std::int64_t bytes;
    bool last;
    Action action;
  };
  struct Rank {
    CreditExchange protocol;
    std::vector<std::deque<Frame>> out;  ///< by receiver
    int turn;                            ///< the receiver whose frame is sent, or was last
    bool sends;
    double port_free_s;  ///< when all that is on its way to this rank is through its port
    double moved_s;
    double patience_s;
  };
  struct Event {
    double time_s;
    std::uint64_t number;
    std::function<void()> happen;
    bool operator<(const Event& other) const { return std::tie(other.time_s, other.number) < std::tie(time_s, number); }
  };
  struct Channel {
    std::deque<Action> arrived, posted;
  };

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  void at(double time_s, std::function<void()> happen) { events_.push({time_s, ++numbers_, std::move(happen)}); }

  [[nodiscard]] bool all_done() const {
    return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.protocol.done(); });
  }

  /// Starts what the rank may start, and begins to wait.
  void moved(int r) {
    Rank& rank = ranks_[index(r)];
    rank.moved_s = now_s_;
    Action a;
    while (rank.protocol.next(a)) start(r, a);
    if (!rank.protocol.in_step() || rank.protocol.done()) return;
    at(now_s_ + rank.patience_s, [this, r, since_s = now_s_] {
      Rank& patient = ranks_[index(r)];
      if (patient.moved_s > since_s || !patient.protocol.in_step() || patient.protocol.done()) return;
      patient.protocol.lose_patience();
      ++stalls;
      moved(r);
    });
  }

  void start(int r, const Action& a) {
    const bool sends = a.kind == Kind::send_short || a.kind == Kind::send_grant || a.kind == Kind::send_piece;
    const bool grants = a.kind == Kind::send_grant || a.kind == Kind::recv_grant;
    if (!sends) {
      channels_[{a.peer, r, grants}].posted.push_back(a);
      at(now_s_, [this, r, a, grants] { match(a.peer, r, grants); });
      return;
    }
    std::deque<Frame>& out = ranks_[index(r)].out[index(a.peer)];
    std::int64_t left = (grants ? 8 : a.bytes) + header_bytes;
    for (; left > frame_bytes; left -= frame_bytes) out.push_back({frame_bytes, false, a});
    out.push_back({left, true, a});
    if (ranks_[index(r)].sends) return;
    ranks_[index(r)].sends = true;
    at(now_s_, [this, r] { send_frame(r); });
  }

  void send_frame(int r) {
    Rank& rank = ranks_[index(r)];
    int tried = 0;
    do rank.turn = (rank.turn + 1) % size_;
    while (rank.out[index(rank.turn)].empty() && ++tried < size_);
    rank.sends = tried < size_;
    if (!rank.sends) return;
    const int receiver = rank.turn;
    const Frame frame = rank.out[index(receiver)].front();
    rank.out[index(receiver)].pop_front();
    Rank& to = ranks_[index(receiver)];
    const double lasts_s = static_cast<double>(frame.bytes) / link_bytes_per_s;
    to.port_free_s = std::max(to.port_free_s, now_s_) + lasts_s;
    if (frame.last) {
      at(to.port_free_s + latency_s, [this, r, receiver, frame] {
        const bool grants = frame.action.kind == Kind::send_grant;
        channels_[{r, receiver, grants}].arrived.push_back(frame.action);
        match(r, receiver, grants);
      });
    }
    at(now_s_ + lasts_s, [this, r, frame] {
      if (frame.last) {
        ranks_[index(r)].protocol.complete(frame.action);
        moved(r);
      }
      send_frame(r);
    });
  }

  void match(int from, int to, bool grants) {
    Channel& channel = channels_[{from, to, grants}];
    if (channel.arrived.empty() || channel.posted.empty()) return;
    const Action out = channel.arrived.front();
    const Action in = channel.posted.front();
    channel.arrived.pop_front();
    channel.posted.pop_front();
    ranks_[index(to)].protocol.complete(in, grants ? out.bytes : 0);
    moved(to);
  }

  int size_;
  double patience_s_;
  double now_s_ = 0;
  std::uint64_t numbers_ = 0;
  std::vector<Rank> ranks_;
  std::priority_queue<Event> events_;
  std::map<std::tuple<int, int, bool>, Channel> channels_;
};

}  // namespace antiphon
