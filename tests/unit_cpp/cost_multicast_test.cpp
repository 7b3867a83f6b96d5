// SPDX-License-Identifier: Apache-2.0
// Checks multicasts in model time.
#include <doctest/doctest.h>

#include <numeric>

#include "antiphon/cost.hpp"
#include "cost_clusters.hpp"
#include "near.hpp"

using namespace antiphon;

namespace {

constexpr double latency_s = 40e-6;

Profile multicast_profile(int nodes) {
  Profile profile = simple_profile(nodes, fast_ethernet);
  profile.multicast = {true, latency_s, Curve::line(20e-6, fast_ethernet), 100e-6};
  return profile;
}

double seconds(Collective collective, const char* text, std::int64_t bytes, const Cluster& cluster) {
  const Choice choice = parse_choice(collective, text);
  const auto prediction = predict({collective, bytes}, *choice.algorithm, choice.parameters, cluster);
  return prediction ? prediction->seconds : -1;
}

}  // namespace

TEST_CASE(
    "a multicast takes g(m) + L, whatever the number of ranks, and its sender waits for acknowledgements of long "
    "messages") {
  for (const int ranks : {2, 5, 16, 200}) {
    const Cluster cluster = Cluster::blocked(multicast_profile(ranks), ranks, 1);
    CHECK(seconds(Collective::bcast, "multicast", 12000, cluster) == doctest::Approx(20e-6 + 1e-3 + latency_s));
    CHECK(seconds(Collective::bcast, "multicast:segment_bytes=0", 1200000, cluster) ==
          doctest::Approx(20e-6 + 0.1 + latency_s + 100e-6));
  }
}

TEST_CASE("without multicast on the machine there is no prediction, and no choice") {
  const Profile profile = simple_profile(8, fast_ethernet);
  CHECK(seconds(Collective::bcast, "multicast", 4096, Cluster::blocked(profile, 8, 1)) < 0);
  for (const RankedChoice& choice : rank_candidates({Collective::bcast, 4096}, Cluster::blocked(profile, 8, 1)))
    CHECK(!choice.algorithm->multicasts);
  const auto ranked = rank_candidates({Collective::bcast, 4096}, Cluster::blocked(multicast_profile(8), 8, 1));
  CHECK(ranked.front().algorithm->multicasts);
}

TEST_CASE("several ranks of a node have it from the first of them") {
  Profile profile = multicast_profile(4);
  profile.link_classes.insert(profile.link_classes.begin(),
                              {"node", Scope::node, 1e-6, Curve({{0, 0}}), Curve({{0, 0}}), Curve::line(1e-6, 1e9)});
  const double one = seconds(Collective::bcast, "multicast", 12000, Cluster::blocked(profile, 4, 1));
  const double three = seconds(Collective::bcast, "multicast", 12000, Cluster::blocked(profile, 12, 3));
  CHECK(three == doctest::Approx(one + 2 * (1e-6 + 12e-6) + 1e-6));
}

TEST_CASE("an uplink carries each block of a multicast allgather once") {
  Profile profile = multicast_profile(16);
  profile.topology.switches = {{"a"}, {"b", 0, fast_ethernet}};
  for (int i = 8; i < 16; ++i) profile.topology.nodes[static_cast<std::size_t>(i)].switch_index = 1;
  const Cluster cluster = Cluster::blocked(profile, 16, 1);
  constexpr std::int64_t block_bytes = 120000;  // 10 ms
  // Every port takes in 15 blocks; the uplink carries 8 each way.
  CHECK(seconds(Collective::allgather, "multicast:senders=2", block_bytes, cluster) == near(0.16, 0.1));
  CHECK(seconds(Collective::allgather, "multicast:senders=1", block_bytes, cluster) == near(0.16, 0.03));
}

TEST_CASE(
    "on shared cores a multicast costs what was measured: half of it the sender's core for each receiver, half of it "
    "each receiver's") {
  const auto bcast_s = [](double crowded_s, int ranks) {
    Profile profile = multicast_profile(16);
    profile.processors = {2, 16, 1e-6};
    profile.multicast.crowded_s = crowded_s;
    return seconds(Collective::bcast, "multicast", 8, Cluster::blocked(profile, ranks, 1));
  };
  constexpr double work_s = 10e-6;
  // The time is a half for each receiver on the sender's core, and a half for each rank (eight, then four) on the other
  // core.
  CHECK(bcast_s(work_s, 16) - bcast_s(1e-12, 16) == near((15 + 8) * work_s / 2, 0.05));
  CHECK(bcast_s(work_s, 8) - bcast_s(1e-12, 8) == near((7 + 4) * work_s / 2, 0.05));
  CHECK(bcast_s(0, 16) > 0);
}

TEST_CASE("ranks that wait for a multicast alone sleep, and leave their cores to the others") {
  Profile profile = multicast_profile(16);
  profile.processors = {2, 16, 1e-6};
  const Cluster cluster = Cluster::blocked(profile, 16, 1);
  constexpr int rounds = 20;
  // Two ranks exchange messages; all other ranks wait for what the first of them sends after that.
  const auto exchange = [&](bool multicast) {
    std::vector<Schedule> s(16);
    OpId last = no_op;
    for (int k = 0; k < rounds; ++k) {
      last = s[0].recv(1, {Space::output, 0, 0}, {s[0].send(1, {Space::input, 0, 0}, {last}, {}, k)}, {}, k);
      const Dep before = k == 0 ? Dep(no_op) : Dep(static_cast<OpId>(2 * k - 1));
      (void)s[1].send(0, {Space::input, 0, 0}, {s[1].recv(0, {Space::output, 0, 0}, {before}, {}, k)}, {}, k);
    }
    std::vector<std::int32_t> all(16);
    std::iota(all.begin(), all.end(), 0);
    for (int r = 0; r < 16; ++r) {
      Schedule& own = s[static_cast<std::size_t>(r)];
      const int group = own.group(all);
      if (r == 0 && multicast) own.multicast(group, {Space::input, 0, 8}, {last}, {});
      if (r == 0 && !multicast) {
        for (int to = 1; to < 16; ++to) own.send(to, {Space::input, 0, 8}, {last}, {}, rounds);
      }
      if (r > 0 && multicast) own.recv_multicast(0, group, {Space::output, 0, 8}, {}, {});
      if (r > 0 && !multicast) own.recv(0, {Space::output, 0, 8}, {}, {}, rounds);
    }
    return evaluate(s, cluster).rank_end_s[1];
  };
  CHECK(exchange(true) < exchange(false) - rounds * 1e-6);
}

TEST_CASE("a multicast is not taken for a message, from however far away") {
  constexpr int ranks = 300;
  constexpr std::int64_t bytes = 1000;
  constexpr double multicast_s = 20e-6 + bytes / fast_ethernet + latency_s;
  Profile profile = multicast_profile(ranks);
  profile.processors.copy_bytes_per_s = 1e9;
  // Rank 0 receives a multicast from the rank before it, and a message from a rank that first copies for 1 ms.
  constexpr int root = ranks - 1;
  for (const int sender : {ranks - 257, ranks - 2}) {
    std::vector<Schedule> s(ranks);
    s[sender].send(0, {Space::input, 0, bytes},
                   {s[sender].copy({Space::input, 0, 1000000}, {Space::output, 0, 1000000})});
    const int at_root = s[root].group({0, root});
    s[root].multicast(at_root, {Space::input, 0, bytes});
    const int at_receiver = s[0].group({0, root});
    const OpId received = s[0].recv_multicast(root, at_receiver, {Space::output, bytes, bytes});
    s[0].recv(sender, {Space::output, 0, bytes});
    EvaluationOptions options;
    options.marks.resize(ranks);
    options.marks[0] = {s[0].copy({}, {}, {received})};
    const Evaluation evaluation = evaluate(s, Cluster::blocked(profile, ranks, 1), options);
    CHECK(evaluation.marks_s[0][0] == doctest::Approx(multicast_s));
    CHECK(evaluation.rank_end_s[0] == doctest::Approx(1e-3 + multicast_s));
  }
}
