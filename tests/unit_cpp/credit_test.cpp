// SPDX-License-Identifier: Apache-2.0
// Runs the credit protocol of all ranks in one process, with random patterns, orders and interleavings, and checks
// every byte and every bound.
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>

#include <doctest/doctest.h>

#include "antiphon/credit.hpp"
#include "antiphon/error.hpp"
#include "most_ranks.hpp"

using namespace antiphon;

namespace {

using Random = std::mt19937_64;
using Action = CreditExchange::Action;
using Kind = CreditExchange::Kind;
using Sizes = std::vector<std::int64_t>;  ///< [from · size + to]

std::byte byte_of(int from, int to, std::int64_t i) {
  return static_cast<std::byte>(from * 31 + to * 7 + i * 13 + i / 256);
}

/// The ranks and the messages on their way: a message is delivered in order within (from, to, kind of channel), at any
/// time.
class World {
 public:
  /// With `encodes`, data have any other length on the wire.
  World(int size, const Sizes& sizes, const std::vector<CreditLimits>& limits, std::uint64_t seed, bool encodes = false)
      : size_(size), sizes_(sizes), random_(seed), encodes_(encodes) {
    for (int r = 0; r < size; ++r) {
      ranks_.push_back(std::make_unique<CreditExchange>(r, size, limits[static_cast<std::size_t>(r)]));
      for (int from = 0; from < size; ++from)
        output_.emplace_back(static_cast<std::size_t>(bytes(from, r)), std::byte{0xA5});
    }
  }

  /// One call of all ranks. `in_step` says which ranks are in step; with `hurry` a rank may lose patience at any time,
  /// and not only where nothing moves.
  void run(const std::vector<std::vector<ExchangeStep>>& advice, const std::vector<bool>& in_step, bool hurry) {
    for (int r = 0; r < size_; ++r) {
      Sizes out, in;
      for (int peer = 0; peer < size_; ++peer) {
        out.push_back(bytes(r, peer));
        in.push_back(bytes(peer, r));
      }
      ranks_[static_cast<std::size_t>(r)]->reset(out, in, advice[static_cast<std::size_t>(r)],
                                                 in_step[static_cast<std::size_t>(r)]);
    }
    hurry_ = hurry;
    while (step() || lose_patience()) {
    }
    for (int r = 0; r < size_; ++r)
      REQUIRE_MESSAGE(ranks_[static_cast<std::size_t>(r)]->done(), "deadlock: rank ", r, " of ", size_);
    for (const auto& [channel, messages] : channels_) REQUIRE((messages.sends.empty() && messages.receives.empty()));
    for (int to = 0; to < size_; ++to) {
      for (int from = 0; from < size_; ++from) {
        if (from == to) continue;
        const auto& got = output_[static_cast<std::size_t>(to * size_ + from)];
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < got.size(); ++i) wrong += got[i] != byte_of(from, to, static_cast<std::int64_t>(i));
        REQUIRE(wrong == 0);
      }
    }
  }

  /// Counts how often nothing moved before a rank lost patience.
  [[nodiscard]] int stalls() const { return stalls_; }

 private:
  struct Channel {
    std::deque<Action> sends, receives;
  };

  [[nodiscard]] std::int64_t bytes(int from, int to) const {
    return sizes_[static_cast<std::size_t>(from * size_ + to)];
  }

  bool step() {
    if (hurry_ && random_() % 50 == 0) ranks_[random_() % ranks_.size()]->lose_patience();
    const bool start_first = random_() % 2 == 0;
    return start_first ? start() || deliver() : deliver() || start();
  }

  /// The patience of one rank ends first.
  bool lose_patience() {
    std::vector<CreditExchange*> patient;
    for (const auto& rank : ranks_) {
      if (rank->in_step() && !rank->done()) patient.push_back(rank.get());
    }
    if (patient.empty()) return false;
    patient[random_() % patient.size()]->lose_patience();
    ++stalls_;
    return true;
  }

  bool start() {
    const auto first = static_cast<int>(random_() % static_cast<unsigned>(size_));
    for (int i = 0; i < size_; ++i) {
      const int r = (first + i) % size_;
      Action a;
      if (!ranks_[static_cast<std::size_t>(r)]->next(a)) continue;
      // What is under way may turn out to be longer than was expected.
      if (!encodes_)
        REQUIRE(ranks_[static_cast<std::size_t>(r)]->outstanding_bytes() <=
                ranks_[static_cast<std::size_t>(r)]->limits().credit_bytes);
      const bool sends = a.kind == Kind::send_short || a.kind == Kind::send_grant || a.kind == Kind::send_piece;
      const bool grants = a.kind == Kind::send_grant || a.kind == Kind::recv_grant;
      Channel& channel = channels_[{sends ? r : a.peer, sends ? a.peer : r, grants}];
      // A granted piece must find its receive posted.
      if (a.kind == Kind::send_piece) REQUIRE(channel.receives.size() > channel.sends.size());
      (sends ? channel.sends : channel.receives).push_back(a);
      return true;
    }
    return false;
  }

  bool deliver() {
    std::vector<std::tuple<int, int, bool>> possible;
    for (auto& [key, channel] : channels_) {
      if (!channel.sends.empty() && !channel.receives.empty()) possible.push_back(key);
    }
    if (possible.empty()) return false;
    const auto key = possible[random_() % possible.size()];
    const auto [from, to, grants] = key;
    Channel& channel = channels_[key];
    const Action out = channel.sends.front();
    const Action in = channel.receives.front();
    channel.sends.pop_front();
    channel.receives.pop_front();
    if (!grants) {
      REQUIRE(out.bytes == in.bytes);
      REQUIRE(out.offset_bytes == in.offset_bytes);
      auto& memory = output_[static_cast<std::size_t>(to * size_ + from)];
      for (std::int64_t i = 0; i < out.bytes; ++i) {
        memory[static_cast<std::size_t>(in.offset_bytes + i)] = byte_of(from, to, out.offset_bytes + i);
      }
    }
    if (encodes_ && !grants) {
      const auto wire_bytes = static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(out.bytes + 16));
      ranks_[static_cast<std::size_t>(from)]->note_sent_as(out.bytes, wire_bytes);
      ranks_[static_cast<std::size_t>(to)]->note_received_as(from, out.bytes, wire_bytes);
    }
    ranks_[static_cast<std::size_t>(from)]->complete(out);
    ranks_[static_cast<std::size_t>(to)]->complete(in, grants ? out.bytes : 0);
    return true;
  }

  int size_;
  Sizes sizes_;
  Random random_;
  bool encodes_;
  bool hurry_ = false;
  int stalls_ = 0;
  std::vector<std::unique_ptr<CreditExchange>> ranks_;
  std::vector<std::vector<std::byte>> output_;
  std::map<std::tuple<int, int, bool>, Channel> channels_;
};

/// Sizes are zero, short and long, by a kind of pattern: sparse, hot spots, banded, power law, all alike.
Sizes random_sizes(int size, int kind, Random& random) {
  Sizes sizes(static_cast<std::size_t>(size * size));
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      const auto any = static_cast<std::int64_t>(random() % 500);
      std::int64_t bytes = any;
      if (kind == 1) bytes = random() % 3 == 0 ? any : 0;
      if (kind == 2) bytes = to < 2 ? 400 : 0;
      if (kind == 3) bytes = (to - from + size) % size <= 2 ? 300 : 0;
      if (kind == 4) bytes = 600 / (1 + from + to) * static_cast<std::int64_t>(random() % 2);
      if (kind == 5) bytes = 100;
      if (kind == 6) bytes = from == 0 || to == size - 1 ? 0 : any;
      sizes[static_cast<std::size_t>(from * size + to)] = bytes;
    }
  }
  return sizes;
}

/// A rank predicts anything: peers that send nothing, itself, too much, too little, none.
std::vector<ExchangeStep> random_advice(int size, Random& random) {
  std::vector<ExchangeStep> steps;
  const auto count = random() % static_cast<unsigned>(2 * size + 1);
  for (std::size_t i = 0; i < count; ++i) {
    const auto anybody = [&] { return static_cast<int>(random() % static_cast<unsigned>(size + 2)) - 1; };
    const int to = anybody();
    const auto out = static_cast<std::int64_t>(random() % 300);
    steps.push_back({to, out, anybody(), static_cast<std::int64_t>(random() % 300)});
  }
  return steps;
}

}  // namespace

TEST_CASE("credit: any pattern, any steps, any limits, any patience, any interleaving") {
  Random random(4711);
  for (int size = 1; size <= most_ranks(17); ++size) {
    for (int kind = 0; kind <= 6; ++kind) {
      for (int repeat = 0; repeat < 6; ++repeat) {
        CAPTURE(size);
        CAPTURE(kind);
        CAPTURE(repeat);
        const auto short_bytes = static_cast<std::int64_t>(random() % 3 * 60);
        const auto piece = 1 + static_cast<std::int64_t>(random() % 100);
        std::vector<CreditLimits> limits;
        std::vector<std::vector<ExchangeStep>> advice;
        std::vector<bool> in_step;
        for (int r = 0; r < size; ++r) {
          // Each rank predicts on its own, but what is short and how messages are cut is common to all.
          const auto sender = piece + static_cast<std::int64_t>(random() % 100);
          limits.push_back({piece, sender + static_cast<std::int64_t>(random() % 200), sender, short_bytes,
                            1 + static_cast<std::int64_t>(random() % 200),
                            1 + static_cast<std::int64_t>(random() % 200), static_cast<std::int64_t>(random() % 600)});
          advice.push_back(repeat % 3 == 0 ? std::vector<ExchangeStep>{} : random_advice(size, random));
          in_step.push_back(repeat % 2 == 1 && random() % 4 > 0);
        }
        World world(size, random_sizes(size, kind, random), limits, random(), repeat % 3 == 1);
        for (int call = 0; call < 2; ++call) world.run(advice, in_step, repeat > 3);
      }
    }
  }
}

TEST_CASE("credit: ranks that all go through the same phases in step need no patience") {
  Random random(471);
  for (int size = 2; size <= most_ranks(17); ++size) {
    for (int kind = 0; kind <= 6; ++kind) {
      CAPTURE(size);
      CAPTURE(kind);
      const auto ranks = static_cast<std::size_t>(size);
      const std::vector<CreditLimits> limits(ranks, {20, 120, 40, 60, 60, 160});
      World world(size, random_sizes(size, kind, random), limits, random(), kind % 2 == 1);
      for (int call = 0; call < 2; ++call)
        world.run(std::vector<std::vector<ExchangeStep>>(ranks), std::vector<bool>(ranks, true), false);
      CHECK(world.stalls() == 0);
    }
  }
}

TEST_CASE("credit: in step, a rank sends no faster than it receives") {
  const CreditLimits limits{.piece_bytes = 10,
                            .credit_bytes = 60,
                            .sender_bytes = 20,
                            .short_bytes = 0,
                            .short_window_bytes = 1,
                            .step_bytes = 40};
  CreditExchange exchange(0, 3, limits);
  const Sizes sizes{0, 50, 50};
  exchange.reset(sizes, sizes, {}, true);
  std::deque<Action> receives, grants_in;
  std::int64_t received = 0, sent = 0;
  const auto take_actions = [&] {
    Action a;
    while (exchange.next(a)) {
      if (a.kind == Kind::recv_piece) receives.push_back(a);
      if (a.kind == Kind::recv_grant) grants_in.push_back(a);
      if (a.kind == Kind::send_piece) sent += a.bytes;
      if (a.kind == Kind::send_grant || a.kind == Kind::send_piece) exchange.complete(a);
    }
  };
  take_actions();
  for (int i = 0; i < 2; ++i) exchange.complete(grants_in[static_cast<std::size_t>(i)], 50);
  take_actions();
  CHECK(sent == 20);
  while (!receives.empty()) {
    received += receives.front().bytes;
    exchange.complete(receives.front());
    receives.pop_front();
    take_actions();
    CHECK(sent == std::min<std::int64_t>(100, received + 20));
  }
  CHECK(exchange.done());
}

TEST_CASE("credit: grants follow the advice, part by part") {
  CreditExchange exchange(
      0, 3, {.piece_bytes = 10, .credit_bytes = 20, .sender_bytes = 20, .short_bytes = 0, .short_window_bytes = 1});
  const Sizes none{0, 0, 0};
  const Sizes in{0, 25, 20};
  const std::vector<ExchangeStep> advice{{-1, 0, 2, 10}, {-1, 0, 1, 10}, {-1, 0, 2, 10}};
  exchange.reset(none, in, advice);
  std::vector<std::pair<int, std::int64_t>> granted;
  std::deque<Action> receives;
  while (!exchange.done()) {
    Action a;
    while (exchange.next(a)) {
      if (a.kind == Kind::recv_piece) receives.push_back(a);
      if (a.kind != Kind::send_grant) continue;
      granted.emplace_back(a.peer, a.bytes);
      exchange.complete(a);
    }
    REQUIRE(!receives.empty());
    exchange.complete(receives.front());
    receives.pop_front();
  }
  const std::vector<std::pair<int, std::int64_t>> wanted{{2, 10}, {1, 10}, {2, 10}, {1, 10}, {1, 5}};
  CHECK(granted == wanted);
}

TEST_CASE("credit: a free rank shares its credit out by how much is to come from whom") {
  CreditExchange exchange(
      0, 4, {.piece_bytes = 10, .credit_bytes = 100, .sender_bytes = 20, .short_bytes = 0, .short_window_bytes = 1});
  const Sizes none{0, 0, 0, 0};
  const Sizes in{0, 600, 300, 100};
  const auto granted_at_once = [&](bool in_step) {
    exchange.reset(none, in, {}, in_step);
    Sizes granted(4);
    Action a;
    while (exchange.next(a)) {
      if (a.kind == Kind::send_grant) granted[static_cast<std::size_t>(a.peer)] += a.bytes;
    }
    return granted;
  };
  CHECK(granted_at_once(false) ==
        Sizes{0, 50, 30, 20});  // rank 3 at least as much as any, rank 1, the last in rotation, what is left of its 60
  CHECK(granted_at_once(true)[1] == 0);
}

TEST_CASE("credit: as many bytes on the wire are granted, however short pieces become") {
  const Sizes none{0, 0};
  const Sizes in{0, 100000};
  const auto granted_at_once = [&](double share) {
    CreditExchange exchange(
        0, 2, {.piece_bytes = 10, .credit_bytes = 100, .sender_bytes = 20, .short_bytes = 0, .short_window_bytes = 1});
    for (int i = 0; i < 100; ++i) exchange.note_received_as(1, 1000, static_cast<std::int64_t>(1000 * share));
    exchange.reset(none, in);
    std::int64_t granted = 0;
    Action a;
    while (exchange.next(a)) granted += a.kind == Kind::send_grant ? a.bytes : 0;
    CHECK(exchange.outstanding_bytes() <= 100);
    return granted;
  };
  CHECK(granted_at_once(1) == 100);
  CHECK(granted_at_once(1.1) == 100);
  CHECK(granted_at_once(0.5) == 200);
  CHECK(granted_at_once(0.25) == 400);
  CHECK(granted_at_once(0) == 800);  // a bound, since the next piece may be as long as any
}

TEST_CASE("credit: pieces under way that turn out longer are waited for before more is granted") {
  CreditExchange exchange(
      0, 2, {.piece_bytes = 10, .credit_bytes = 100, .sender_bytes = 20, .short_bytes = 0, .short_window_bytes = 1});
  for (int i = 0; i < 100; ++i) exchange.note_received_as(1, 10, 0);
  const Sizes none{0, 0};
  const Sizes in{0, 5000};
  exchange.reset(none, in);
  std::deque<Action> receives;
  std::int64_t granted = 0, received = 0, most_after_half = 0;
  while (!exchange.done()) {
    Action a;
    while (exchange.next(a)) {
      if (a.kind == Kind::recv_piece) receives.push_back(a);
      if (a.kind != Kind::send_grant) continue;
      granted += a.bytes;
      exchange.complete(a);
    }
    if (received > 2500) most_after_half = std::max(most_after_half, granted - received);
    REQUIRE(!receives.empty());
    received += receives.front().bytes;
    exchange.note_received_as(1, 10, 10);
    exchange.complete(receives.front());
    receives.pop_front();
  }
  CHECK(received == 5000);
  CHECK(most_after_half == 100);
}

TEST_CASE("credit: a grant that cannot be is refused") {
  const Sizes none{0, 0};
  const Sizes out{0, 100000};
  for (const std::int64_t wrong :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{8191}, std::int64_t{100001}, INT64_MIN, INT64_MAX}) {
    CreditExchange exchange(0, 2, {});
    exchange.reset(out, none);
    Action a;
    REQUIRE(exchange.next(a));
    REQUIRE(a.kind == Kind::recv_grant);
    CHECK_THROWS_AS(exchange.complete(a, wrong), FormatError);
  }
  CHECK_THROWS_AS(CreditExchange(0, 2, {.piece_bytes = 9, .credit_bytes = 8}), InvalidArgument);
}
