// SPDX-License-Identifier: Apache-2.0
// Who counts as lost, on simulated networks: a member that answers nothing, but no living one.
#include <algorithm>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include "multicast_network.hpp"

using namespace multicast_test;

namespace {

constexpr std::int64_t second = 1'000'000'000;

/// Members that can be stopped all at once, as a job is by SIGSTOP.
class Job {
 public:
  static constexpr int size = 4;

  explicit Job(Strategy strategy) : network_(size, 1, {}) {
    Options options;
    options.strategy = strategy;
    options.lost_after_ns = second;
    const Description d = describe(size, options);
    for (int i = 0; i < size; ++i) {
      wires_.push_back(std::make_unique<NetworkWire>(network_, i));
      engines_.push_back(std::make_unique<Engine>(*wires_.back(), d, i, LocalOptions{}));
    }
  }

  void run(std::int64_t ns) {
    for (const std::int64_t end = network_.now() + ns; network_.now() < end;) {
      for (auto& engine : engines_) engine->progress();
      network_.advance(network_.now() + 100'000);
    }
  }
  void stop(std::int64_t ns) {
    for (const std::int64_t end = network_.now() + ns; network_.now() < end;) network_.advance(end);
  }
  void send() { engine(0).send(data_, {}); }
  void receive(int member) {
    const Part all{0, buffers_[static_cast<std::size_t>(member)]};
    engine(member).receive(0, static_cast<std::int64_t>(data_.size()), {&all, 1});
  }
  Engine& engine(int member) { return *engines_[static_cast<std::size_t>(member)]; }
  Network& network() { return network_; }
  [[nodiscard]] bool done() const {
    return std::all_of(engines_.begin(), engines_.end(),
                       [](const auto& e) { return e->drained() && !e->core().failure; });
  }

 private:
  Network network_;
  std::vector<std::unique_ptr<NetworkWire>> wires_;
  std::vector<std::unique_ptr<Engine>> engines_;
  Bytes data_ = Bytes(50'000);
  std::vector<Bytes> buffers_ = std::vector<Bytes>(size, data_);
};

/// The others of a large group, as its sender sees them: they answer polls a millisecond later.
class Others final : public Wire {
 public:
  explicit Others(const Description& d) : description_(d) {}

  std::set<int> late, dead;  ///< members that have got nothing yet, and those that answer nothing
  double loss = 0;           ///< of answers

  std::int64_t now_ns() override { return now_ns_; }
  std::size_t send(std::span<const Datagram> packets) override {
    for (const Datagram& packet : packets) {
      const auto head = parse_head(packet.head);  // control packets lie there as a whole
      if (!head || head->type != Type::heartbeat || dead.contains(packet.to)) continue;
      const auto heartbeat = parse_heartbeat(body_of(packet.head));
      if (packet.to >= 0 && std::uniform_real_distribution<>(0, 1)(random_) >= loss) answer(packet.to, *heartbeat);
    }
    return packets.size();
  }
  std::span<const std::span<const std::byte>> receive() override {
    taken_.clear();
    views_.clear();
    while (!arrivals_.empty() && arrivals_.begin()->first <= now_ns_) {
      taken_.push_back(std::move(arrivals_.begin()->second));
      arrivals_.erase(arrivals_.begin());
    }
    for (const Bytes& packet : taken_) views_.emplace_back(packet);
    return views_;
  }
  void wait(std::int64_t) override {}
  /// Moves the clock to the next arrival, or to `due_ns` if that is earlier.
  void advance(std::int64_t due_ns) {
    const std::int64_t next = arrivals_.empty() ? due_ns : std::min(due_ns, arrivals_.begin()->first);
    now_ns_ = std::max(now_ns_ + 1'000, next);
  }

 private:
  void answer(int member, const Heartbeat& heartbeat) {
    const std::uint32_t upto = late.contains(member) ? 0 : heartbeat.sent;
    const auto ack = body(Ack{Ack::direct, heartbeat.id, {{0, upto}}});
    const Head head{Type::ack, static_cast<std::uint16_t>(member), 0, description_.session, ++counter_};
    arrivals_.emplace(now_ns_ + 1'000'000, sealed(description_, head, ack));
  }

  const Description& description_;
  std::int64_t now_ns_ = 1'000'000;
  std::uint64_t counter_ = 0;
  std::mt19937_64 random_{1};
  std::multimap<std::int64_t, Bytes> arrivals_;
  std::vector<Bytes> taken_;
  std::vector<std::span<const std::byte>> views_;
};

/// A group whose member 0 sends one packet and waits until all others have it.
struct LargeGroup {
  explicit LargeGroup(int members) : size(members) { engine.send(data, {}); }

  void run(std::int64_t ns) {
    for (const std::int64_t end = others.now_ns() + ns; others.now_ns() < end && !engine.core().failure;) {
      const bool any = engine.progress();
      others.advance(any ? others.now_ns() : std::min(engine.due_ns(), end));
    }
  }

  int size;
  Description description = describe(size, {});
  Others others{description};
  Engine engine{others, description, 0, {}};
  Bytes data = Bytes(1000);
};

}  // namespace

TEST_CASE("multicast: a job that was stopped as a whole goes on, whoever waits for whom") {
  for (const Strategy strategy : {Strategy::nack, Strategy::ack}) {
    Job job(strategy);
    for (int i = 1; i < Job::size; ++i) job.receive(i);
    job.run(second / 2);
    job.stop(10 * second);
    job.run(second / 2);
    job.send();
    job.run(second / 10);
    CHECK(job.done());
    job.send();
    job.receive(1);
    job.run(second / 2);
    job.stop(10 * second);
    job.run(second / 2);
    for (int i = 2; i < Job::size; ++i) job.receive(i);
    job.run(second / 2);
    CHECK(job.done());
  }
}

TEST_CASE("multicast: a member that died while the job was stopped is lost") {
  for (const Strategy strategy : {Strategy::nack, Strategy::ack}) {
    for (const int dead : {0, 3}) {
      Job job(strategy);
      for (int i = 1; i < Job::size; ++i) job.receive(i);
      if (dead != 0) job.send();
      job.network().kill(dead);
      job.stop(10 * second);
      job.run(second / 2);
      CHECK_FALSE(job.engine(1).core().failure);
      job.run(3 * second);
      REQUIRE(job.engine(1).core().failure);
      CHECK(job.engine(1).core().failure->member == dead);
    }
  }
}

TEST_CASE("multicast: in a large group no living member is lost, however many are late") {
  for (const int size : {1'200, 2'500}) {
    LargeGroup one(size);
    one.others.late = {7};
    one.run(30 * second);
    CHECK_FALSE(one.engine.core().failure);
    CHECK_FALSE(one.engine.drained());
    one.others.late.clear();
    one.run(10 * second);
    CHECK(one.engine.drained());
  }
  LargeGroup all(1'200);
  for (int i = 1; i < all.size; ++i) all.others.late.insert(i);
  all.others.loss = 0.2;
  all.run(60 * second);
  CHECK_FALSE(all.engine.core().failure);
}

TEST_CASE("multicast: in a large group a dead member is lost within twice the stated time") {
  for (const bool others_late : {false, true}) {
    LargeGroup group(1'200);
    group.others.dead = {1'150};
    for (int i = 1; others_late && i < group.size; ++i) group.others.late.insert(i);
    group.run(12 * second);
    REQUIRE(group.engine.core().failure);
    CHECK(group.engine.core().failure->member == 1'150);
  }
}
