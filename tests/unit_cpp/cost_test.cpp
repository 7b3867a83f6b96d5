// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cmath>
#include <optional>

#include <doctest/doctest.h>

#include "antiphon/cost.hpp"
#include "antiphon/error.hpp"
#include "cost_machines.hpp"

using namespace antiphon;

namespace {

constexpr double rate = 100e6;

double seconds(const std::vector<Schedule>& schedules, const Machine& machine) {
  return evaluate(schedules, machine).seconds;
}

Range bytes(std::int64_t count) { return {Space::input, 0, count}; }
Range place(std::int64_t count) { return {Space::output, 0, count}; }

}  // namespace

TEST_CASE("one message takes L + g(m), and processors that are slower than the link show") {
  Profile profile = simple_profile(2, rate);
  std::vector<Schedule> schedules(2);
  schedules[0].send(1, bytes(100000));
  schedules[1].recv(0, place(100000));
  CHECK(seconds(schedules, Machine::blocked(profile, 2, 1)) == doctest::Approx(40e-6 + 20e-6 + 1e-3));
  profile.link_classes[0].receive_overhead = Curve({{0, 5e-4}});
  CHECK(seconds(schedules, Machine::blocked(profile, 2, 1)) == doctest::Approx(40e-6 + 20e-6 + 1e-3).epsilon(0.001));
  // Work that the receiver's processor does while the message comes in does not add to its time, work before does.
  schedules[1] = {};
  const OpId copied = schedules[1].copy(place(4000000), bytes(4000000));
  schedules[1].recv(0, place(100000), {copied});
  profile.processors.copy_bytes_per_s = 1e9;
  CHECK(seconds(schedules, Machine::blocked(profile, 2, 1)) == doctest::Approx(4e-3 + 5e-4).epsilon(0.001));
}

TEST_CASE("ports are shared: out of a sender, into a receiver, and across an uplink") {
  const Profile profile = simple_profile(4, rate);
  const std::int64_t m = 1000000;
  const double alone = 20e-6 + 1e-2;
  const double latency = 40e-6;
  {
    std::vector<Schedule> s(3);
    s[0].send(1, bytes(m));
    s[0].send(2, bytes(m));
    s[1].recv(0, place(m));
    s[2].recv(0, place(m));
    CHECK(seconds(s, Machine::blocked(profile, 3, 1)) == doctest::Approx(2 * alone + latency));
  }
  {
    std::vector<Schedule> s(3);
    s[0].send(2, bytes(m));
    s[1].send(2, bytes(m / 2));
    s[2].recv(0, place(m));
    s[2].recv(1, place(m / 2));
    // Half the rate each until the shorter is through, then all of it.
    CHECK(seconds(s, Machine::blocked(profile, 3, 1)) == doctest::Approx(20e-6 * 2 + 1.5e-2 + latency));
  }
  {
    Profile two = profile;
    two.topology.switches.push_back({"b", 0, rate / 2});
    two.topology.nodes[2].switch_index = two.topology.nodes[3].switch_index = 1;
    std::vector<Schedule> s(4);
    s[0].send(2, bytes(m));
    s[1].send(3, bytes(m));
    s[2].recv(0, place(m));
    s[3].recv(1, place(m));
    CHECK(seconds(s, Machine::blocked(two, 4, 1)) == doctest::Approx(4 * alone + latency));
    // Ranks of one node share its port.
    CHECK(seconds(s, Machine(profile, {0, 0, 1, 2})) == doctest::Approx(2 * alone + latency));
    CHECK(seconds(s, Machine(profile, {0, 1, 2, 3})) == doctest::Approx(alone + latency));
  }
}

TEST_CASE("more under way over an uplink than its port holds: a timeout; few long messages adapt") {
  constexpr int side = 8;
  Profile profile = simple_profile(2 * side, rate);
  profile.topology.switches.push_back({"b", 0, 2 * rate});
  for (int n = side; n < 2 * side; ++n) profile.topology.nodes[static_cast<std::size_t>(n)].switch_index = 1;
  // From each of one side to each of the other, all at once.
  const auto took_s = [&](std::int64_t m) {
    std::vector<Schedule> s(2 * side);
    for (int i = 0; i < side * side; ++i) {
      const auto from = static_cast<std::size_t>(i / side);
      const int to = side + (i / side + i) % side;
      s[from].send(to, bytes(m));
      s[static_cast<std::size_t>(to)].recv(static_cast<int>(from), place(m));
    }
    return seconds(s, Machine::blocked(profile, 2 * side, 1));
  };
  const double unlimited_s = took_s(4096);
  // Of 64 x 4 KiB a quarter has left when the last is there.
  for (const std::int64_t kib : {160, 208}) {
    profile.contention.port_buffer_bytes = kib * 1024;
    CHECK(took_s(4096) == doctest::Approx(unlimited_s + (kib < 192 ? 0.2 : 0)).epsilon(0.01));
  }
  profile.topology.switches[1].uplink_buffer_bytes = 160 * 1024;
  profile.contention.retransmission_timeout_s = 0.5;
  CHECK(took_s(4096) == doctest::Approx(unlimited_s + 0.5).epsilon(0.01));
  CHECK(took_s(2048) < 0.1);
  // What a connection that rested sends at once has not adapted; of longer messages the least window counts.
  profile.topology.switches[1].uplink_buffer_bytes = 320 * 1024;
  CHECK(took_s(8192) > 0.5);
  CHECK(took_s(16384) < 0.1);
  profile.topology.switches[1].uplink_buffer_bytes = 160 * 1024;
  // One long message each: TCP makes its windows smaller.
  std::vector<Schedule> s(2 * side);
  for (int r = 0; r < side; ++r) {
    s[static_cast<std::size_t>(r)].send(r + side, bytes(1 << 20));
    s[static_cast<std::size_t>(r + side)].recv(r, place(1 << 20));
  }
  CHECK(seconds(s, Machine::blocked(profile, 2 * side, 1)) ==
        doctest::Approx(side * static_cast<double>(1 << 20) / (2 * rate)).epsilon(0.01));
}

TEST_CASE("max-min: what one flow cannot use, others get") {
  Profile profile = simple_profile(4, rate);
  profile.topology.nodes[3].port_bytes_per_s = rate / 10;
  std::vector<Schedule> s(4);
  const std::int64_t m = 900000;
  // 0 sends to the slow 3 and to 1: 3 takes a tenth of the rate, 1 gets nine tenths.
  s[0].send(3, bytes(m));
  s[0].send(1, bytes(m));
  s[1].recv(0, place(m));
  s[3].recv(0, place(m));
  const Evaluation e = evaluate(s, Machine::blocked(profile, 4, 1));
  CHECK(e.rank_end_s[1] == doctest::Approx(1e-2).epsilon(0.02));
  CHECK(e.rank_end_s[3] == doctest::Approx(9e-2).epsilon(0.02));
}

TEST_CASE("a burst passes at once, and a pause fills the bucket again") {
  Profile profile = simple_profile(2, rate);
  for (NodeEntry& node : profile.topology.nodes) node.burst_bytes = 50000;
  std::vector<Schedule> s(2);
  s[0].send(1, bytes(100000));
  s[1].recv(0, place(100000));
  CHECK(seconds(s, Machine::blocked(profile, 2, 1)) == doctest::Approx(40e-6 + 0.52e-3).epsilon(0.05));
}

TEST_CASE("long messages wait for their receive, short ones do not") {
  Profile profile = simple_profile(3, rate);
  profile.link_classes[0].eager_bytes = 1000;
  for (const std::int64_t m : {1000, 1001}) {
    std::vector<Schedule> s(3);
    // Rank 1 receives from rank 2 first, which takes long; only then from rank 0.
    s[2].send(1, bytes(800));
    const OpId first = s[1].recv(2, place(800));
    s[1].recv(0, place(m), {first});
    s[0].send(1, bytes(m));
    const Evaluation e = evaluate(s, Machine::blocked(profile, 3, 1));
    CHECK((e.rank_end_s[0] > 40e-6) == (m > 1000));
  }
}

TEST_CASE("the answer to a long message waits behind another one on its way back") {
  Profile profile = simple_profile(2, rate);
  profile.link_classes[0].eager_bytes = 1000;
  profile.processors.copy_bytes_per_s = 1e9;
  const std::int64_t m = 1000000;
  const auto exchange = [&](std::int64_t copied_before) {
    std::vector<Schedule> s(2);
    for (int r = 0; r < 2; ++r) {
      s[static_cast<std::size_t>(r)].recv(1 - r, place(m));
      const OpId late = r == 1 ? s[1].copy(bytes(copied_before), place(copied_before)) : no_op;
      s[static_cast<std::size_t>(r)].send(1 - r, bytes(m), {late});
    }
    return seconds(s, Machine::blocked(profile, 2, 1));
  };
  // Both at once: side by side. The later one by 1 ms: when the other has passed.
  CHECK(exchange(1000) == doctest::Approx(10e-3).epsilon(0.02));
  CHECK(exchange(1000000) == doctest::Approx(20e-3).epsilon(0.02));
}

TEST_CASE("on shared cores a long message is taken in as it comes") {
  Profile profile = simple_profile(2, rate);
  profile.processors.cores_per_node = 1;
  profile.processors.nodes_sharing = 2;
  profile.processors.turn_s = 1e-6;
  profile.link_classes[0].eager_bytes = 100000;
  profile.link_classes[0].receive_overhead = Curve({{0, 0}, {100000, 1e-3}});
  std::vector<Schedule> s(2);
  s[0].send(1, bytes(1000000));
  s[1].recv(0, place(1000000));
  // The wire's 10 ms, and the work for what came last.
  CHECK(seconds(s, Machine::blocked(profile, 2, 1)) == doctest::Approx(11e-3).epsilon(0.02));
}

TEST_CASE("where ports are full, packets take the time of cores that nodes share") {
  Profile profile = simple_profile(8, rate);
  profile.processors.cores_per_node = 1;
  profile.processors.nodes_sharing = 8;
  LinkClass& link = profile.link_classes[0];
  link.crowded = Curve({{0, 1e-6}});
  link.saturated = Curve({{20000, 61e-6}});
  constexpr int messages = 20;
  const auto ring = [&](int nodes, std::int64_t size) {
    std::vector<Schedule> s(static_cast<std::size_t>(nodes));
    for (int r = 0; r < nodes; ++r) {
      auto& of_rank = s[static_cast<std::size_t>(r)];
      std::optional<OpId> before;
      for (int i = 0; i < messages; ++i) {
        if (before) of_rank.send((r + 1) % nodes, bytes(size), {*before});
        else of_rank.send((r + 1) % nodes, bytes(size));
        before = of_rank.recv((r + nodes - 1) % nodes, place(size));
      }
    }
    return seconds(s, Machine::blocked(profile, nodes, 1)) / messages;
  };
  const double step_s = ring(2, 20000);
  CHECK(step_s == doctest::Approx(40e-6 + 20e-6 + 200e-6).epsilon(0.05));  // the core has time left
  CHECK(ring(8, 20000) > 8 * 60e-6 * 0.95);
  // By packets: 14 of the measured size, 140 of ten times as much.
  CHECK(ring(8, 200000) > 10 * 8 * 60e-6 * 0.9);
  link.saturated = {};
  CHECK(ring(8, 20000) == doctest::Approx(step_s).epsilon(0.05));
  // What passes at once does not wait for its port.
  for (NodeEntry& node : profile.topology.nodes) node.burst_bytes = 1e7;
  const double rested_s = ring(8, 20000);
  link.saturated = Curve({{20000, 61e-6}});
  CHECK(ring(8, 20000) < rested_s + 0.1 * 8 * 60e-6);
}

TEST_CASE("interrupts go before those who look, and before whoever is running") {
  Turns turns(std::vector<int>(4, 0), 1);
  turns.ask(3, 0);
  turns.interrupt(0, 2, 0);
  CHECK(turns.next(0, 0)->time_s == doctest::Approx(5));
  CHECK(turns.next(0, 1)->time_s == doctest::Approx(5));
  turns.begin(3, 5);
  CHECK(turns.interrupted_s(3) == 0);
  turns.interrupt(1, 0.5, 6);
  CHECK(turns.interrupted_s(3) == doctest::Approx(0.5));
  CHECK(turns.interrupted_s(3) == 0);
}

TEST_CASE("ranks that share cores wait for one another") {
  Profile profile = simple_profile(16, rate);
  profile.link_classes[0].send_overhead = profile.link_classes[0].receive_overhead = Curve({{0, 10e-6}});
  const Call call{Collective::barrier};
  const Algorithm* barrier = find_algorithm(Collective::barrier, "dissemination");
  const double apart = predict(call, *barrier, {}, Machine::blocked(profile, 16, 1))->seconds;
  profile.processors.cores_per_node = 2;
  profile.processors.nodes_sharing = 16;
  const double together = predict(call, *barrier, {}, Machine::blocked(profile, 16, 1))->seconds;
  CHECK(apart < 4 * 100e-6);
  // 16 ranks × 4 rounds × 20 µs on two cores.
  CHECK(together > 16 * 4 * 20e-6 / 2);
}

TEST_CASE("ranks on one core have their turns round the ring, whoever asked first") {
  constexpr double turn_s = 1;
  Turns turns(std::vector<int>(4, 0), turn_s);
  turns.ask(3, 0.5 * turn_s);
  CHECK(turns.next(0, 0.5 * turn_s)->rank == 3);
  CHECK(turns.next(0, 0.5 * turn_s)->time_s == doctest::Approx(3 * turn_s));
  turns.ask(1, 0.7 * turn_s);
  CHECK(turns.next(0, 0.7 * turn_s)->rank == 1);
  turns.begin(1, turn_s);
  CHECK(!turns.next(0, turn_s));  // the core is taken
  turns.end(1, 5 * turn_s);
  // Rank 2 looks first, and finds nothing.
  CHECK(turns.next(0, 5 * turn_s)->rank == 3);
  CHECK(turns.next(0, 5 * turn_s)->time_s == doctest::Approx(6 * turn_s));
}

TEST_CASE("who sleeps has no turns, and comes back behind all who are awake") {
  Turns turns(std::vector<int>(4, 0), 1);
  turns.begin(0, 0);
  turns.sleep(0, 1);
  turns.ask(3, 1);
  CHECK(turns.next(0, 1)->time_s == doctest::Approx(3));  // after 1 and 2
  turns.ask(0, 1.5);
  CHECK(turns.next(0, 1.5)->rank == 3);
  turns.begin(3, 3);
  turns.end(3, 5);
  CHECK(turns.next(0, 5)->rank == 0);
  CHECK(turns.next(0, 5)->time_s == doctest::Approx(5));
  for (const int rank : {0, 1, 2, 3}) {
    turns.begin(rank, 6);
    turns.sleep(rank, 6);
  }
  CHECK(!turns.next(0, 6));
  turns.ask(2, 7);
  CHECK(turns.next(0, 7)->time_s == doctest::Approx(7));
}

TEST_CASE("turns by chance: another order, and everybody has one") {
  const auto order_of = [](std::uint32_t order) {
    Turns turns(std::vector<int>(16, 0), 1, order);
    for (int rank = 0; rank < 16; ++rank) turns.ask(rank, 0);
    std::vector<int> ranks;
    while (const auto next = turns.next(0, 0)) {
      ranks.push_back(next->rank);
      turns.begin(next->rank, 0);
      turns.end(next->rank, 0);
    }
    return ranks;
  };
  std::vector<int> ranks = order_of(1);
  CHECK(order_of(0) != ranks);
  CHECK(order_of(1) == ranks);
  std::sort(ranks.begin(), ranks.end());
  CHECK(order_of(0) == ranks);
}

TEST_CASE("who has its turn runs ahead as far as messages are there") {
  Profile profile = simple_profile(16, rate);
  profile.link_classes[0].latency_s = 1e-6;
  profile.link_classes[0].gap = Curve({{0, 0}});
  profile.link_classes[0].send_overhead = profile.link_classes[0].receive_overhead = Curve({{0, 4e-6}});
  profile.processors = {2, 16, 1.5e-6};
  // Each sends three messages to the next, and takes three in: on two cores, 16 × 24 µs of work.
  std::vector<Schedule> s(16);
  for (int r = 0; r < 16; ++r) {
    for (int k = 0; k < 3; ++k) {
      s[static_cast<std::size_t>(r)].send((r + 1) % 16, bytes(0), {}, {}, k);
      s[static_cast<std::size_t>(r)].recv((r + 15) % 16, place(0), {}, {}, k);
    }
  }
  const Evaluation e = evaluate(s, Machine::blocked(profile, 16, 1));
  CHECK(e.seconds >= 16 * 24e-6 / 2);
  CHECK(e.seconds < 1.4 * 16 * 24e-6 / 2);
  // First come, first served would have them all end in the last third.
  CHECK(*std::min_element(e.rank_end_s.begin(), e.rank_end_s.end()) < e.seconds / 2);
}

TEST_CASE("a library that gives the core away before it says what has come: a round more, but not for what it knew") {
  constexpr double turn_s = 10e-6;
  Profile profile = simple_profile(4, rate);
  LinkClass& link = profile.link_classes[0];
  link.latency_s = 20e-6;  // half a round of the four, measured among as many
  profile.machine.nodes = 4;
  profile.machine.ranks_per_node = 1;
  link.gap = link.send_overhead = Curve({{0, 0}});
  profile.processors = {1, 4, turn_s};
  profile.processors.copy_bytes_per_s = 1e9;
  const auto ends = [&](double receive_s, const std::vector<Schedule>& s) {
    link.receive_overhead = Curve({{0, receive_s}});
    return seconds(s, Machine::blocked(profile, 4, 1));
  };
  std::vector<Schedule> one(4);
  one[0].send(1, bytes(0));
  one[1].recv(0, place(0));
  CHECK(ends(4 * turn_s, one) == doctest::Approx(ends(0, one) + 4 * turn_s));
  // Blocking receives take the round, others do not.
  link.told_next_turn = false;
  CHECK(ends(4 * turn_s, one) == doctest::Approx(ends(0, one)));
  link.told_next_turn = true;
  CHECK(ends(0, one) == doctest::Approx(ends(4 * turn_s, one)));
  // From rank 2, which copies for fifteen turns before. That rank 0's has been there for long makes no difference.
  std::vector<Schedule> two(4);
  two[2].send(1, bytes(0), {two[2].copy(place(150000), bytes(150000))});
  const OpId second = two[1].recv(2, place(0));
  const double alone_s = ends(4 * turn_s, two);
  two[0].send(1, bytes(0));
  two[1].recv(0, place(0), {second});
  CHECK(ends(4 * turn_s, two) == doctest::Approx(alone_s));
}

TEST_CASE("fewer ranks on a core have shorter turns, if that was measured") {
  Profile profile = simple_profile(16, rate);
  profile.processors = {2, 16, 2e-6};
  CHECK(Machine::blocked(profile, 8, 1).turn_s() == doctest::Approx(2e-6));
  profile.processors.turns = {{2, 1e-6}, {6, 1.8e-6}, {8, 2e-6}};
  CHECK(Machine::blocked(profile, 16, 1).turn_s() == doctest::Approx(2e-6));
  CHECK(Machine::blocked(profile, 8, 1).turn_s() == doctest::Approx(1.4e-6));
  CHECK(Machine::blocked(profile, 3, 1).turn_s() == doctest::Approx(1e-6));
  CHECK(Machine::blocked(profile, 64, 4).turn_s() == doctest::Approx(2e-6));
}

TEST_CASE("a benchmark's calls go on until a port's burst is used up, also where each takes but little of it") {
  Profile profile = simple_profile(4, 1e7);
  profile.link_classes[0].gap = Curve({{0, 0}, {1000, 100e-6}});
  for (NodeEntry& node : profile.topology.nodes) node.burst_bytes = 4096;
  const Barrier barrier{{parse_choice(Collective::barrier, "dissemination")}};
  const Algorithm* chain = find_algorithm(Collective::bcast, "chain");
  // Three hops of a latency, two more in the barrier: in those a port takes a little less than a call needs.
  profile.link_classes[0].latency_s = 20e-6;
  const Machine machine = Machine::blocked(profile, 4, 1);
  const double once_s = predict({Collective::bcast, 1000}, *chain, {}, machine)->seconds;
  CHECK(once_s == doctest::Approx(60e-6));
  CHECK(predict({Collective::bcast, 1000}, *chain, {}, machine, &barrier)->seconds > once_s + 10e-6);
}

TEST_CASE("a benchmark's times depend on the barrier before its calls") {
  Profile profile = simple_profile(16, rate);
  profile.link_classes[0].send_overhead = profile.link_classes[0].receive_overhead = Curve({{0, 4e-6}});
  const Algorithm* bcast = find_algorithm(Collective::bcast, "binomial");
  const Machine machine = Machine::blocked(profile, 16, 1);
  const auto after = [&](const char* text) {
    const Barrier barrier{{parse_choice(Collective::barrier, text)}};
    return predict({Collective::bcast, 1024}, *bcast, {}, machine, &barrier)->seconds;
  };
  CHECK(std::abs(after("dissemination") - after("tree:radix=8")) > 10e-6);
}

TEST_CASE("a library's barrier may have parts, within nodes and between their first ranks") {
  Profile profile = simple_profile(16, rate);
  profile.link_classes[0].send_overhead = profile.link_classes[0].receive_overhead = Curve({{0, 4e-6}});
  const Algorithm* reduce = find_algorithm(Collective::reduce, "in_order_binary");
  const auto part = [](const char* text, Among among) {
    return BarrierPart{parse_choice(Collective::barrier, text), among};
  };
  const auto after = [&](const Barrier& barrier, int per_node) {
    return predict({Collective::reduce, 1024}, *reduce, {}, Machine::blocked(profile, 16, per_node), &barrier)->seconds;
  };
  const Barrier parts{part("tree", Among::node), part("recursive_doubling", Among::leaders), part("tree", Among::node)};
  // On nodes of one rank the leaders are all there are.
  CHECK(after(parts, 1) == doctest::Approx(after({part("recursive_doubling", Among::all)}, 1)));
  CHECK(std::abs(after(parts, 4) - after({part("recursive_doubling", Among::all)}, 4)) > 10e-6);
}

TEST_CASE("schedules that do not fit together are refused") {
  const Profile profile = simple_profile(2, rate);
  std::vector<Schedule> s(2);
  s[0].recv(1, place(8));
  CHECK_THROWS_AS((void)seconds(s, Machine::blocked(profile, 2, 1)), InvalidArgument);
  s[0] = {};
  s[0].send(7, bytes(8));
  CHECK_THROWS_AS((void)seconds(s, Machine::blocked(profile, 2, 1)), InvalidArgument);
  CHECK_THROWS_AS((void)seconds(s, Machine::blocked(profile, 3, 1)), InvalidArgument);
}

TEST_CASE("one rank stands for all where everything repeats: the same time as all ranks'") {
  const Profile profile = simple_profile(64, rate);
  for (const int per_node : {1, 4}) {
    const Machine machine = Machine::blocked(profile, 64, per_node);
    CHECK(machine.period() == per_node);
    for (const char* name : {"alltoall:rotated", "alltoall:exchange_xor", "allgather:ring",
                             "allgather:recursive_doubling", "barrier:dissemination", "reduce_scatter_block:ring"}) {
      CAPTURE(name);
      const std::string text(name);
      const Collective collective = *collective_from_name(text.substr(0, text.find(':')));
      const Choice choice = parse_choice(collective, text.substr(text.find(':') + 1));
      const auto [all, one] = whole_and_standing_for({collective, 20000}, choice, machine);
      REQUIRE(one > 0);
      CHECK(one == doctest::Approx(all).epsilon(per_node == 1 ? 0.001 : 0.05));
    }
  }
}

TEST_CASE("a root stands for nobody, wherever it is") {
  const Profile profile = simple_profile(64, rate);
  for (const int per_node : {4, 16}) {
    for (const int root : {0, 1, 3, 7, 15, 16, 44, 60, 63}) {
      CAPTURE(root);
      const Choice choice = parse_choice(Collective::bcast, "knomial:radix=4");
      Call call{Collective::bcast, 1000};
      call.root = root;
      const auto build = [&](int rank) {
        return choice.algorithm->build(problem_of(call, rank, 64, *choice.algorithm, choice.parameters));
      };
      CHECK(find_symmetry(build, 64, per_node, root).whole());
    }
  }
}

TEST_CASE("a prediction for every algorithm, also for very many ranks, in a short time") {
  Profile profile = simple_profile(16, rate);
  profile.multicast = {true, 40e-6, Curve::line(20e-6, rate), 100e-6};
  const auto begin = std::chrono::steady_clock::now();
  for (const Algorithm* a : algorithms()) {
    CAPTURE(a->name);
    const auto few = predict({a->collective, 4096}, *a, {}, Machine::blocked(profile, 16, 1));
    REQUIRE(few);
    CHECK(few->seconds > 0);
    const auto many = predict({a->collective, 4096}, *a, {}, Machine::blocked(profile, 256, 1));
    if (many) CHECK(many->seconds > few->seconds * (a->multicasts ? 0.99 : 1));  // one copy on the wire, whatever P
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  MESSAGE("all algorithms at 16 and 256 ranks: " << took.count() << " s");
  CHECK(took.count() < 60);
}

TEST_CASE("extrapolated from fewer ranks: as evaluated, within a few per cent") {
  const Profile profile = simple_profile(16, rate);
  for (const char* name : {"chain", "flat", "binomial"}) {
    const Choice choice = parse_choice(Collective::bcast, name);
    const Machine machine = Machine::blocked(profile, 2000, 1);
    const double extrapolated =
        predict_from_fewer_ranks({Collective::bcast, 65536}, *choice.algorithm, choice.parameters, machine);
    std::vector<Schedule> schedules;
    for (int r = 0; r < machine.ranks(); ++r) {
      schedules.push_back(choice.algorithm->build(
          problem_of({Collective::bcast, 65536}, r, machine.ranks(), *choice.algorithm, choice.parameters)));
    }
    const double all = seconds(schedules, machine);
    CHECK(extrapolated == doctest::Approx(all).epsilon(0.05));
  }
}

TEST_CASE("many flows that hang together: given up, and extrapolated from what takes less") {
  const Profile profile = simple_profile(16, rate);
  const Call call{Collective::bcast, 1 << 20};
  const Choice choice = parse_choice(Collective::bcast, "circulant");
  const Machine machine = Machine::blocked(profile, 272, 1);
  std::vector<Schedule> schedules;
  for (int r = 0; r < machine.ranks(); ++r) {
    schedules.push_back(
        choice.algorithm->build(problem_of(call, r, machine.ranks(), *choice.algorithm, choice.parameters)));
  }
  EvaluationOptions options;
  options.max_rate_updates = 1000;
  CHECK(evaluate(schedules, machine, options).given_up);
  const Evaluation all = evaluate(schedules, machine);
  CHECK_FALSE(all.given_up);
  const auto prediction = predict(call, *choice.algorithm, choice.parameters, machine);
  REQUIRE(prediction);
  CHECK(prediction->method == Method::extrapolated);
  CHECK(prediction->seconds == doctest::Approx(all.seconds).epsilon(0.1));
}

TEST_CASE("the model ranks all algorithms and chooses the first") {
  const Profile profile = simple_profile(16, rate);
  const auto ranked = rank_candidates({Collective::bcast, 1 << 20}, Machine::blocked(profile, 16, 1));
  REQUIRE(ranked.size() > 5);
  for (std::size_t i = 1; i < ranked.size(); ++i) CHECK(ranked[i - 1].seconds <= ranked[i].seconds);
  Question question{Collective::bcast, 16, 16, 1, 1 << 20};
  const auto choice = choose_by_model(question, profile);
  REQUIRE(choice);
  CHECK(choice->algorithm == ranked[0].algorithm);
  CHECK(choice->algorithm->name != "flat");
  question.bytes = -1;
  CHECK_FALSE(choose_by_model(question, profile));
}
