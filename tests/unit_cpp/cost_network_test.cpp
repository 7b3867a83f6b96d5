// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <vector>

#include "antiphon/error.hpp"
#include "antiphon/index.hpp"
#include "cost/queues.hpp"
#include "cost_clusters.hpp"
#include "near.hpp"

using namespace antiphon;

TEST_CASE("one message takes L + g(m), and processors that are slower than the link show") {
  Profile profile = simple_profile(2, rate);
  std::vector<Schedule> schedules(2);
  schedules[0].send(1, bytes(100000));
  schedules[1].recv(0, place(100000));
  CHECK(seconds(schedules, Cluster::blocked(profile, 2, 1)) == doctest::Approx(40e-6 + 20e-6 + 1e-3));
  profile.link_classes[0].receive_overhead = Curve({{0, 5e-4}});
  CHECK(seconds(schedules, Cluster::blocked(profile, 2, 1)) == near(40e-6 + 20e-6 + 1e-3, 0.001));
  // Work that the receiver's processor does while the message comes in does not add to its time, but work before that
  // does.
  schedules[1] = {};
  const OpId copied = schedules[1].copy(place(4000000), bytes(4000000));
  schedules[1].recv(0, place(100000), {copied});
  profile.processors.copy_bytes_per_s = 1e9;
  CHECK(seconds(schedules, Cluster::blocked(profile, 2, 1)) == near(4e-3 + 5e-4, 0.001));
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
    CHECK(seconds(s, Cluster::blocked(profile, 3, 1)) == doctest::Approx(2 * alone + latency));
  }
  {
    std::vector<Schedule> s(3);
    s[0].send(2, bytes(m));
    s[1].send(2, bytes(m / 2));
    s[2].recv(0, place(m));
    s[2].recv(1, place(m / 2));
    // Each message gets half the rate until the shorter one is through; then the longer one gets all of it.
    CHECK(seconds(s, Cluster::blocked(profile, 3, 1)) == doctest::Approx(20e-6 * 2 + 1.5e-2 + latency));
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
    CHECK(seconds(s, Cluster::blocked(two, 4, 1)) == doctest::Approx(4 * alone + latency));
    // Ranks of one node share its port.
    CHECK(seconds(s, Cluster(profile, {0, 0, 1, 2})) == doctest::Approx(2 * alone + latency));
    CHECK(seconds(s, Cluster(profile, {0, 1, 2, 3})) == doctest::Approx(alone + latency));
  }
}

TEST_CASE("ranks with cores of their own share their node's port for the time on the wire only") {
  constexpr int per_node = 4;
  constexpr int messages = 8;
  const auto all_ranks = [&](std::int64_t m, int cores_per_node, int physical_cores = 0) {
    Profile profile = simple_profile(2, rate);
    profile.processors.cores_per_node = cores_per_node;
    profile.processors.physical_cores = physical_cores;
    std::vector<Schedule> s(at(2 * per_node));
    for (int r = 0; r < per_node; ++r) {
      for (int i = 0; i < messages; ++i) {
        s[at(r)].send(per_node + r, bytes(m));
        s[at(per_node + r)].recv(r, place(m));
      }
    }
    return seconds(s, Cluster::blocked(profile, 2 * per_node, per_node));
  };
  const double short_gap_s = 20e-6 + 100 / rate;
  CHECK(all_ranks(100, per_node) == near(40e-6 + messages * short_gap_s, 0.02));
  CHECK(all_ranks(100, 1) > 0.95 * per_node * messages * short_gap_s);
  // The one rank of a node that was measured may have been bound to a core.
  CHECK(all_ranks(100, 1, per_node) == all_ranks(100, per_node));
  const double wire_s = per_node * messages * 10000 / rate;
  CHECK(all_ranks(10000, per_node) > wire_s);
  CHECK(all_ranks(10000, per_node) < 1.05 * wire_s);
}

TEST_CASE("more under way over an uplink than its port holds: a timeout; few long messages adapt") {
  constexpr int side = 8;
  Profile profile = simple_profile(2 * side, rate);
  profile.topology.switches.push_back({"b", 0, 2 * rate});
  for (int n = side; n < 2 * side; ++n) profile.topology.nodes[static_cast<std::size_t>(n)].switch_index = 1;
  // Each node of one side sends to each node of the other side, all at once.
  const auto took_s = [&](std::int64_t m) {
    std::vector<Schedule> s(2 * side);
    for (int i = 0; i < side * side; ++i) {
      const auto from = static_cast<std::size_t>(i / side);
      const int to = side + (i / side + i) % side;
      s[from].send(to, bytes(m));
      s[static_cast<std::size_t>(to)].recv(static_cast<int>(from), place(m));
    }
    return seconds(s, Cluster::blocked(profile, 2 * side, 1));
  };
  const double unlimited_s = took_s(4096);
  // A quarter of the 64 x 4 KiB has left when the last message is there.
  for (const std::int64_t kib : {160, 208}) {
    profile.contention.port_buffer_bytes = kib * 1024;
    CHECK(took_s(4096) == near(unlimited_s + (kib < 192 ? 0.2 : 0), 0.01));
  }
  profile.topology.switches[1].uplink_buffer_bytes = 160 * 1024;
  profile.contention.retransmission_timeout_s = 0.5;
  CHECK(took_s(4096) == near(unlimited_s + 0.5, 0.01));
  CHECK(took_s(2048) < 0.1);
  // A connection that rested has not adapted what it sends at once; for longer messages the smallest window counts.
  profile.topology.switches[1].uplink_buffer_bytes = 320 * 1024;
  CHECK(took_s(8192) > 0.5);
  CHECK(took_s(16384) < 0.1);
  profile.topology.switches[1].uplink_buffer_bytes = 160 * 1024;
  // Each sends one long message, so TCP makes its windows smaller.
  std::vector<Schedule> s(2 * side);
  for (int r = 0; r < side; ++r) {
    s[static_cast<std::size_t>(r)].send(r + side, bytes(1 << 20));
    s[static_cast<std::size_t>(r + side)].recv(r, place(1 << 20));
  }
  CHECK(seconds(s, Cluster::blocked(profile, 2 * side, 1)) ==
        near(side * static_cast<double>(1 << 20) / (2 * rate), 0.01));
}

TEST_CASE("a loss counts for the message that it hit, not for a later one with its number") {
  constexpr ResourceId uplink = 7;
  constexpr double full_bytes = 4 * 1460, buffer_bytes = 10000;
  const auto lost_after = [&](bool is_reused) {
    PortQueues queues;
    queues.add(uplink, rate, buffer_bytes);
    Route route;
    route.add(uplink);
    // Three messages are at the port at the same time, and the third is more than its buffer holds.
    const double there_s = full_bytes / rate;
    for (const std::uint32_t message : {1U, 2U, 0U})
      queues.send(message, static_cast<int>(message), rate, full_bytes, route, 0, false);
    if (is_reused) queues.send(0, 3, rate, 1, route, there_s / 2, false);
    return queues.lost(0, there_s);
  };
  CHECK(lost_after(false));
  CHECK_FALSE(lost_after(true));
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
  const Evaluation e = evaluate(s, Cluster::blocked(profile, 4, 1));
  CHECK(e.rank_end_s[1] == near(1e-2, 0.02));
  CHECK(e.rank_end_s[3] == near(9e-2, 0.02));
}

TEST_CASE("a burst passes at once, and a pause fills the bucket again") {
  Profile profile = simple_profile(2, rate);
  for (NodeEntry& node : profile.topology.nodes) node.burst_bytes = 50000;
  std::vector<Schedule> s(2);
  s[0].send(1, bytes(100000));
  s[1].recv(0, place(100000));
  CHECK(seconds(s, Cluster::blocked(profile, 2, 1)) == near(40e-6 + 0.52e-3, 0.05));
}

TEST_CASE("schedules that do not fit together are refused") {
  const Profile profile = simple_profile(2, rate);
  std::vector<Schedule> s(2);
  s[0].recv(1, place(8));
  CHECK_THROWS_AS((void)seconds(s, Cluster::blocked(profile, 2, 1)), InvalidArgument);
  s[0] = {};
  s[0].send(7, bytes(8));
  CHECK_THROWS_AS((void)seconds(s, Cluster::blocked(profile, 2, 1)), InvalidArgument);
  CHECK_THROWS_AS((void)seconds(s, Cluster::blocked(profile, 3, 1)), InvalidArgument);
}
