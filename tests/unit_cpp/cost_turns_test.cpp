// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "cost/turns.hpp"
#include "cost_clusters.hpp"
#include "near.hpp"

using namespace antiphon;

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
  // The time is the wire's 10 ms and the work for what came last.
  CHECK(seconds(s, Cluster::blocked(profile, 2, 1)) == near(11e-3, 0.02));
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
    return seconds(s, Cluster::blocked(profile, nodes, 1)) / messages;
  };
  const double step_s = ring(2, 20000);
  constexpr double idle_step_s = 40e-6 + 20e-6 + 200e-6;
  CHECK(step_s > idle_step_s);
  CHECK(step_s < idle_step_s + 2 * 60e-6);  // the core has time left
  CHECK(ring(8, 20000) > 8 * 60e-6 * 0.95);
  // Work grows by packets: 14 for the measured size, 140 for ten times as much.
  CHECK(ring(8, 200000) > 10 * 8 * 60e-6 * 0.9);
  link.saturated = {};
  CHECK(ring(8, 20000) == near(idle_step_s, 0.05));
  // A message that passes at once does not wait for its port.
  for (NodeEntry& node : profile.topology.nodes) node.burst_bytes = 1e7;
  const double rested_s = ring(8, 20000);
  link.saturated = Curve({{20000, 61e-6}});
  CHECK(ring(8, 20000) < rested_s + 0.1 * 8 * 60e-6);
}

TEST_CASE("interrupts go before those who look, and before whoever is running") {
  CoreTurns turns(std::vector<int>(4, 0), 1);
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
  const PredictedCall call{Collective::barrier};
  const Algorithm* barrier = find_algorithm(Collective::barrier, "dissemination");
  const double apart = predict(call, *barrier, {}, Cluster::blocked(profile, 16, 1))->seconds;
  profile.processors.cores_per_node = 2;
  profile.processors.nodes_sharing = 16;
  const double together = predict(call, *barrier, {}, Cluster::blocked(profile, 16, 1))->seconds;
  CHECK(apart < 4 * 100e-6);
  // The work is 16 ranks × 4 rounds × 20 µs on two cores.
  CHECK(together > 16 * 4 * 20e-6 / 2);
}

TEST_CASE("ranks on one core have their turns round the ring, whoever asked first") {
  constexpr double turn_s = 1;
  CoreTurns turns(std::vector<int>(4, 0), turn_s);
  turns.ask(3, 0.5 * turn_s);
  CHECK(turns.next(0, 0.5 * turn_s)->rank == 3);
  CHECK(turns.next(0, 0.5 * turn_s)->time_s == doctest::Approx(3 * turn_s));
  turns.ask(1, 0.7 * turn_s);
  CHECK(turns.next(0, 0.7 * turn_s)->rank == 1);
  turns.begin(1, turn_s);
  CHECK(!turns.next(0, turn_s));  // the core is taken
  turns.end(1, 5 * turn_s);
  // Rank 2 looks first and finds nothing.
  CHECK(turns.next(0, 5 * turn_s)->rank == 3);
  CHECK(turns.next(0, 5 * turn_s)->time_s == doctest::Approx(6 * turn_s));
}

TEST_CASE("who sleeps has no turns, and comes back behind all who are awake") {
  CoreTurns turns(std::vector<int>(4, 0), 1);
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
    CoreTurns turns(std::vector<int>(16, 0), 1, order);
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
  // Each rank sends three messages to the next and takes three in: on two cores, 16 × 24 µs of work.
  std::vector<Schedule> s(16);
  for (int r = 0; r < 16; ++r) {
    for (int k = 0; k < 3; ++k) {
      s[static_cast<std::size_t>(r)].send((r + 1) % 16, bytes(0), {}, {}, k);
      s[static_cast<std::size_t>(r)].recv((r + 15) % 16, place(0), {}, {}, k);
    }
  }
  const Evaluation e = evaluate(s, Cluster::blocked(profile, 16, 1));
  CHECK(e.seconds >= 16 * 24e-6 / 2);
  CHECK(e.seconds < 1.4 * 16 * 24e-6 / 2);
  // First come, first served would let all of them end in the last third.
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
    return seconds(s, Cluster::blocked(profile, 4, 1));
  };
  std::vector<Schedule> one(4);
  one[0].send(1, bytes(0));
  one[1].recv(0, place(0));
  CHECK(ends(4 * turn_s, one) == doctest::Approx(ends(0, one) + 4 * turn_s));
  // Blocking receives take the round; other receives do not.
  link.told_next_turn = false;
  CHECK(ends(4 * turn_s, one) == doctest::Approx(ends(0, one)));
  link.told_next_turn = true;
  CHECK(ends(0, one) == doctest::Approx(ends(4 * turn_s, one)));
  // The message from rank 2 comes after it has copied for fifteen turns. That rank 0's message has been there for long
  // makes no difference.
  std::vector<Schedule> two(4);
  two[2].send(1, bytes(0), {two[2].copy(place(150000), bytes(150000))});
  const OpId second = two[1].recv(2, place(0));
  const double alone_s = ends(4 * turn_s, two);
  two[0].send(1, bytes(0));
  two[1].recv(0, place(0), {second});
  CHECK(ends(4 * turn_s, two) == doctest::Approx(alone_s));
}

TEST_CASE("cores are shared where one node has more ranks than cores, whichever it is") {
  Profile profile = simple_profile(4, rate);
  profile.processors = {8, 1, 2e-6};
  std::vector<int> uneven(16, 1);
  uneven[0] = 0;
  const Cluster crowded(profile, uneven);
  CHECK(crowded.ranks_on_cores() == 15);
  CHECK(crowded.cores() == 8);
  // Two nodes share one machine's cores: the first ones have three ranks, the last ones nine.
  profile.processors = {8, 2, 2e-6};
  CHECK(Cluster(profile, {0, 0, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3}).ranks_on_cores() == 9);
  CHECK(Cluster(profile, {0, 0, 1, 2, 2, 3}).cores() == 0);
}

TEST_CASE("fewer ranks on a core have shorter turns, if that was measured") {
  Profile profile = simple_profile(16, rate);
  profile.processors = {2, 16, 2e-6};
  CHECK(Cluster::blocked(profile, 8, 1).turn_s() == doctest::Approx(2e-6));
  profile.processors.turns = {{2, 1e-6}, {6, 1.8e-6}, {8, 2e-6}};
  CHECK(Cluster::blocked(profile, 16, 1).turn_s() == doctest::Approx(2e-6));
  CHECK(Cluster::blocked(profile, 8, 1).turn_s() == doctest::Approx(1.4e-6));
  CHECK(Cluster::blocked(profile, 3, 1).turn_s() == doctest::Approx(1e-6));
  CHECK(Cluster::blocked(profile, 64, 4).turn_s() == doctest::Approx(2e-6));
}
