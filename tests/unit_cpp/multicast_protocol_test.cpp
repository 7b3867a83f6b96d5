// SPDX-License-Identifier: Apache-2.0
// Runs the protocol of all members on a simulated network in virtual time: many seeds, and every byte is checked.
#include <algorithm>
#include <cstdlib>

#include <doctest/doctest.h>

#include "most_ranks.hpp"
#include "multicast_run.hpp"

using namespace multicast_test;

namespace {

/// Runs more seeds with ANTIPHON_SLOW=1; ANTIPHON_TEST_MAX_RANKS limits the group size (sanitizers).
std::uint64_t seeds(std::uint64_t few, std::uint64_t many) {
  return std::getenv("ANTIPHON_SLOW") != nullptr ? many : few;
}
std::vector<int> sizes(std::initializer_list<int> all) {
  std::vector<int> result;
  for (const int size : all) {
    if (size <= most_ranks(size)) result.push_back(size);
  }
  return result;
}

const std::vector<Message> one_sender = {{0, 100'000}, {0, 1}, {0, 0}, {0, 1416}, {0, 1417}, {0, 5000}};

}  // namespace

TEST_CASE("multicast: without loss every packet goes out once, and nobody asks for any") {
  for (const int size : sizes({2, 3, 5, 17})) {
    Scenario s{.size = size, .messages = one_sender};
    Run run(s);
    run.check();
    const Statistics total = run.total();
    CHECK(total.data_sent == 71 + 1 + 1 + 1 + 2 + 4);
    CHECK(total.repairs_unicast + total.repairs_multicast == 0);
    CHECK(total.nacks_sent == 0);
  }
}

TEST_CASE("multicast: the root hears of as many members as the tree's arity, not of all") {
  Scenario s{.size = 12, .messages = {{0, 400'000}}};
  Run run(s);
  run.check();
  const auto acks = run.member(0).engine().statistics().acks_received;
  CHECK(acks >= 4);
  CHECK(acks <= 4 * (283 / 34 + 8));
  Scenario plain = s;
  plain.options.strategy = Strategy::ack;
  Run simple(plain);
  simple.check();
  CHECK(simple.member(0).engine().statistics().acks_received == 11 * 283);
}

TEST_CASE("multicast: loss, members 2 to 17, many seeds, both strategies") {
  for (const Strategy strategy : {Strategy::nack, Strategy::ack}) {
    for (const double loss : {0.01, 0.1, 0.3}) {
      for (const int size : sizes({2, 3, 7, 17})) {
        for (std::uint64_t seed = 1; seed <= seeds(2, 60); ++seed) {
          Scenario s{.size = size, .seed = seed, .conditions = {.loss = loss}, .messages = one_sender};
          s.options.strategy = strategy;
          Run(s).check();
        }
      }
    }
  }
}

TEST_CASE("multicast: everything at once: loss, duplicates, damage, delay, late members, several senders") {
  for (const Strategy strategy : {Strategy::nack, Strategy::ack}) {
    std::uint64_t forged = 0, replayed = 0;
    for (std::uint64_t seed = 1; seed <= seeds(12, 1000); ++seed) {
      std::mt19937_64 random(seed);
      Scenario s{.size = 2 + static_cast<int>(random() % 8), .seed = seed};
      s.conditions = {.loss = 0.05 * static_cast<double>(random() % 4), .duplicate = 0.1, .damage = 0.02, .delay = 0.1};
      s.options.strategy = strategy;
      s.options.tree_arity = 1 + static_cast<int>(random() % 4);
      s.copy = random() % 2 == 0;
      s.late_ns = random() % 2 == 0 ? 5'000'000 : 0;
      s.one_by_one = random() % 2 == 0;
      s.concurrent = 1 + static_cast<int>(random() % 3);
      for (int m = 0; m < 12; ++m) {
        s.messages.push_back({static_cast<int>(random() % static_cast<std::uint64_t>(s.size)),
                              static_cast<std::size_t>(random() % 40'000)});
      }
      Run run(s);
      run.check();
      const Statistics total = run.total();
      forged += total.forged;
      replayed += total.replayed;
      CHECK(total.malformed == 0);
    }
    CHECK(forged > 0);
    CHECK(replayed > 0);
  }
}

TEST_CASE("multicast: members that a switch forgot get each message by repair soon, and join anew") {
  for (const int size : sizes({3, 9, 16})) {
    Scenario s{.size = size,
               .messages = std::vector<Message>(300, {0, 1000}),
               .copy = true,
               .late_ns = 4'000'000,
               .one_by_one = true};
    Run run(s);
    const int forgotten = size / 2;
    for (int i = size - forgotten; i < size; ++i) run.network().deafen(i);
    run.check();
    CHECK(run.total().rejoined == static_cast<std::uint64_t>(forgotten));
  }
}

TEST_CASE("multicast: nobody joins anew because of losses") {
  for (std::uint64_t seed = 1; seed <= seeds(5, 200); ++seed) {
    Scenario s{.size = 8,
               .seed = seed,
               .conditions = {.loss = 0.2},
               .messages = std::vector<Message>(200, {0, 3000}),
               .copy = true,
               .late_ns = 3'000'000};
    Run run(s);
    run.check();
    CHECK(run.total().rejoined == 0);
  }
}

TEST_CASE("multicast: sockets that overflow cost time, not bytes") {
  Scenario s{.size = 5, .conditions = {.inbox = 20}, .messages = {{0, 600'000}, {1, 200'000}}};
  Run(s).check();
}

TEST_CASE("multicast: a packet that many miss is sent again to all, one that a single member misses to it alone") {
  Scenario s{.size = 12, .conditions = {.loss = 0.4}, .messages = {{0, 300'000}}};
  Run many(s);
  many.check();
  CHECK(many.total().repairs_multicast > 0);
  s.size = 2;
  Run one(s);
  one.check();
  CHECK(one.total().repairs_multicast == 0);
  CHECK(one.total().repairs_unicast > 0);
}

TEST_CASE("multicast: a dead receiver or sender ends in an error within the stated time, on all") {
  for (const Strategy strategy : {Strategy::nack, Strategy::ack}) {
    for (const int dead : {0, 6}) {
      Scenario s{.size = 7, .messages = {{0, 900'000}}};
      s.options.strategy = strategy;
      s.options.lost_after_ns = 2'000'000'000;
      Run run(s);
      run.until([&] { return run.member(0).engine().core().out.sent() > 300; }, 1'000'000'000);
      run.network().kill(dead);
      run.asleep_.assign(7, false);
      run.asleep_[static_cast<std::size_t>(dead)] = true;
      const auto all_failed = [&] {
        for (int i = 0; i < 7; ++i) {
          if (i != dead && !run.member(i).engine().core().failure && !run.member(i).finished()) return false;
        }
        return true;
      };
      REQUIRE(run.until(all_failed, 5'000'000'000));
      int told = 0;
      for (int i = 0; i < 7; ++i) {
        const auto& failure = run.member(i).engine().core().failure;
        if (i == dead || !failure) continue;
        ++told;
        CHECK(failure->kind == Failure::Kind::member_lost);
        CHECK(failure->member == dead);
      }
      CHECK(told >= 1);
    }
  }
}

TEST_CASE("multicast: a member that is late, but alive, is waited for as long as it takes") {
  for (const Strategy strategy : {Strategy::nack, Strategy::ack}) {
    Scenario s{.size = 4, .messages = {{0, 400'000}, {1, 2000}}};
    s.options.strategy = strategy;
    s.options.lost_after_ns = 1'000'000'000;
    s.late_ns = 20'000'000'000;
    s.one_by_one = true;
    Run run(s);
    REQUIRE(run.finish(200'000'000'000));
    for (int i = 0; i < 4; ++i) CHECK(run.member(i).wrong_bytes() == 0);
  }
}

TEST_CASE("multicast: packets that are forged, replayed or foreign change nothing") {
  Scenario s{.size = 3, .messages = {{0, 200'000}}};
  Run run(s);
  std::mt19937_64 random(5);
  std::uint64_t injected = 0;
  const auto attack = [&] {
    const auto& seen = run.network().seen();
    for (int i = 0; i < 20 && !seen.empty(); ++i) {
      Bytes packet = seen[random() % seen.size()];
      const auto kind = random() % 3;
      if (kind == 0) packet[random() % packet.size()] ^= std::byte{0x10};
      if (kind == 1) std::generate(packet.begin() + 24, packet.end(), [&] { return static_cast<std::byte>(random()); });
      run.network().inject(1 + static_cast<int>(random() % 2), packet);  // kind 2 replays it unchanged
      ++injected;
    }
    return run.member(0).finished() && run.member(1).finished() && run.member(2).finished();
  };
  REQUIRE(run.until(attack, 10'000'000'000));
  for (int i = 0; i < 3; ++i) CHECK(run.member(i).wrong_bytes() == 0);
  const Statistics total = run.total();
  CHECK(total.forged > 0);
  CHECK(total.replayed > 0);
  CHECK(total.foreign > 0);
  CHECK(injected > 1000);
}

TEST_CASE("multicast: raw packets of all members of a large group are counted, in every run of its trials") {
  constexpr int size = 1'000;
  const Description d = describe(size, {});
  Network network(size, 1, {});
  NetworkWire wire(network, 0);
  Engine engine(wire, d, 0, {});
  for (std::uint32_t run = 0; run < 6; ++run) {
    for (int member = 1; member < size; ++member) {
      const Head head{Type::probe, static_cast<std::uint16_t>(member), to_all, d.session, run + 1};
      network.inject(0, sealed(d, head, body(Probe{run, 0, 1}, 0)));
    }
    network.advance(network.now() + 1'000);
    while (engine.progress()) {
    }
    CHECK(engine.probing().counts(run).size() == size - 1);
  }
}

TEST_CASE("multicast: a receive of another size is an error, not a wrong result") {
  const Description d = describe(2, {});
  Network network(2, 1, {});
  NetworkWire a(network, 0), b(network, 1);
  Engine sender(a, d, 0, {}), receiver(b, d, 1, {});
  Bytes data(5000), buffer(4000);
  sender.send(data, {});
  const Part all{0, buffer};
  receiver.receive(0, 4000, {&all, 1});
  for (int i = 0; i < 1000; ++i) {
    sender.progress();
    receiver.progress();
    network.advance(network.now() + 100'000);
  }
  REQUIRE(receiver.core().failure);
  CHECK(receiver.core().failure->kind == Failure::Kind::size_mismatch);
  REQUIRE(sender.core().failure);
  CHECK(sender.core().failure->kind == Failure::Kind::member_lost);
}

namespace {

/// One sender has receivers that want parts: members 1 and 2 want their share, member 3 two pieces of it, member 4
/// nothing.
class PartsRun {
 public:
  static constexpr int size = 5;
  static constexpr std::size_t share = 30'000, total = share * 5;

  explicit PartsRun(std::uint64_t seed) : network_(size, seed, {.loss = seed % 2 == 0 ? 0.1 : 0.0}) {
    const Description d = describe(size, {});
    for (int i = 0; i < size; ++i) {
      wires_.push_back(std::make_unique<NetworkWire>(network_, i));
      engines_.push_back(std::make_unique<Engine>(*wires_.back(), d, i, LocalOptions{}));
    }
    for (std::size_t i = 0; i < total; ++i) data_[i] = byte_of(0, 0, i);
    tickets_[0] = engines_[0]->send(data_, {});
    for (int i = 1; i < size; ++i) tickets_[at(i)] = engines_[at(i)]->receive(0, total, parts_of(i));
  }

  [[nodiscard]] bool done(int i) const { return engines_[at(i)]->done(tickets_[at(i)]); }

  bool finish() {
    bool all = false;
    for (int turn = 0; turn < 200'000 && !all; ++turn) {
      all = true;
      for (int i = 0; i < size; ++i) {
        engines_[at(i)]->progress();
        all = all && done(i) && engines_[at(i)]->drained();
      }
      network_.advance(network_.now() + 20'000);
    }
    return all;
  }

  [[nodiscard]] std::size_t wrong_bytes(int i) const {
    std::size_t wrong = 0;
    for (std::size_t k = 0; k < share; ++k) {
      const bool wanted = i < 3 || k < 100 || k >= 29'900;
      const std::byte right = wanted ? byte_of(0, 0, at(i) * share + k) : std::byte{0xEE};
      wrong += buffers_[at(i)][k] != right;
    }
    return wrong;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  std::vector<Part> parts_of(int i) {
    const auto whole = std::span(buffers_[at(i)]);
    if (i == 3) return {{3 * 30'000, whole.first(100)}, {3 * 30'000 + 29'900, whole.subspan(29'900)}};
    if (i < 3) return {{i * 30'000, whole}};
    return {};
  }

  Network network_;
  std::vector<std::unique_ptr<NetworkWire>> wires_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<Bytes> buffers_ = std::vector<Bytes>(size, Bytes(share, std::byte{0xEE}));
  std::vector<Ticket> tickets_ = std::vector<Ticket>(size);
  Bytes data_ = Bytes(total);
};

}  // namespace

TEST_CASE("multicast: receivers take their parts of a message, and miss nothing else") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    PartsRun run(seed);
    CHECK(run.done(4));
    REQUIRE(run.finish());
    for (int i = 1; i < 4; ++i) CHECK(run.wrong_bytes(i) == 0);
  }
}
