// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <vector>

#include "antiphon/select.hpp"
#include "cost_clusters.hpp"
#include "near.hpp"

using namespace antiphon;

TEST_CASE("long messages wait for their receive, short ones do not") {
  Profile profile = simple_profile(3, rate);
  profile.link_classes[0].eager_bytes = 1000;
  for (const std::int64_t m : {1000, 1001}) {
    std::vector<Schedule> s(3);
    // Rank 1 receives from rank 2 first, which takes long, and only then from rank 0.
    s[2].send(1, bytes(800));
    const OpId first = s[1].recv(2, place(800));
    s[1].recv(0, place(m), {first});
    s[0].send(1, bytes(m));
    const Evaluation e = evaluate(s, Cluster::blocked(profile, 3, 1));
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
    return seconds(s, Cluster::blocked(profile, 2, 1));
  };
  // Two messages at once go side by side. A message that is 1 ms later goes when the other one has passed.
  CHECK(exchange(1000) == near(10e-3, 0.02));
  CHECK(exchange(1000000) == near(20e-3, 0.02));
}

TEST_CASE("the two directions of a connection share its rate") {
  Profile profile = simple_profile(4, rate);
  profile.link_classes[0].connection_bytes_per_s = rate;
  const std::int64_t m = 1000000;
  const double alone = 20e-6 + 1e-2;
  const double latency = 40e-6;
  std::vector<Schedule> pair(2);
  std::vector<Schedule> ring(4);
  for (int r = 0; r < 2; ++r) {
    pair[static_cast<std::size_t>(r)].send(1 - r, bytes(m));
    pair[static_cast<std::size_t>(r)].recv(1 - r, place(m));
  }
  for (int r = 0; r < 4; ++r) {
    ring[static_cast<std::size_t>(r)].send((r + 1) % 4, bytes(m));
    ring[static_cast<std::size_t>(r)].recv((r + 3) % 4, place(m));
  }
  CHECK(seconds(pair, Cluster::blocked(profile, 2, 1)) == doctest::Approx(2 * alone + latency));
  CHECK(seconds(ring, Cluster::blocked(profile, 4, 1)) == doctest::Approx(alone + latency));
  // One connection that is slower than the ports leaves the rest of them to others.
  profile.link_classes[0].connection_bytes_per_s = rate / 4;
  profile.link_classes[0].gap = Curve::line(20e-6, rate / 4);
  std::vector<Schedule> star(4);
  for (int r = 1; r < 4; ++r) {
    star[0].send(r, bytes(m));
    star[static_cast<std::size_t>(r)].recv(0, place(m));
  }
  CHECK(seconds(star, Cluster::blocked(profile, 4, 1)) == doctest::Approx(20e-6 + 4e-2 + latency));
}

namespace {

/// Each rank sends `m` bytes to `partners` others.
std::vector<Schedule> all_send(int ranks, int partners, std::int64_t m) {
  std::vector<Schedule> s(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    for (int away = 1; away <= partners; ++away) {
      s[static_cast<std::size_t>(r)].send((r + away) % ranks, bytes(m));
      s[static_cast<std::size_t>(r)].recv((r + ranks - away) % ranks, place(m));
    }
  }
  return s;
}

}  // namespace

TEST_CASE("a connection that is slower one way leaves the port to others") {
  Profile profile = simple_profile(5, rate);
  profile.link_classes[0].connection_way_bytes_per_s = rate / 4;
  profile.link_classes[0].gap = Curve::line(20e-6, rate / 4);
  const std::int64_t m = 1000000;
  const double one_s = 20e-6 + 4e-2 + 40e-6;
  const Cluster cluster = Cluster::blocked(profile, 5, 1);
  // One or four connections take as long. Both directions of one do not hinder each other.
  CHECK(seconds(all_send(5, 1, m), cluster) == near(one_s, 0.01));
  CHECK(seconds(all_send(5, 4, m), cluster) == near(one_s, 0.01));
  CHECK(seconds(all_send(2, 1, m), Cluster::blocked(profile, 2, 1)) == near(one_s, 0.01));
}

TEST_CASE("all that a rank sends and receives passes its core") {
  Profile profile = simple_profile(4, rate);
  profile.processors.rank_bytes_per_s = rate;
  const std::int64_t m = 1000000;
  std::vector<Schedule> one_way(2);
  one_way[0].send(1, bytes(m));
  one_way[1].recv(0, place(m));
  CHECK(seconds(one_way, Cluster::blocked(profile, 2, 1)) == near(1e-2 + 60e-6, 0.01));
  // A ring needs twice the time, since each rank does both.
  CHECK(seconds(all_send(4, 1, m), Cluster::blocked(profile, 4, 1)) == near(2e-2 + 80e-6, 0.01));
}

TEST_CASE("one rank stands for all where hosts bind, too") {
  Profile profile = simple_profile(16, rate);
  profile.processors.rank_bytes_per_s = rate;
  profile.link_classes[0].connection_way_bytes_per_s = rate / 2;
  profile.link_classes[0].gap = Curve::line(20e-6, rate / 2);
  for (const char* const algorithm : {"ring", "windowed"}) {
    const auto [all, standing] =
        whole_and_standing_for({Collective::allgather, 65536, 0, 1, true, {}},
                               parse_choice(Collective::allgather, algorithm), Cluster::blocked(profile, 16, 1));
    CHECK(standing == near(all, 0.02));
  }
}

TEST_CASE("a curve that is slowed down keeps its start, and what was slower") {
  const Curve curve({{0, 10e-6}, {1000, 20e-6}, {1000, 5e-3}, {2000, 6e-3}});
  const Curve slower = curve.at_most(1e6);
  CHECK(slower.at(0) == doctest::Approx(10e-6));
  CHECK(slower.at(500) == doctest::Approx(510e-6));
  CHECK(slower.points()[1].seconds == doctest::Approx(1010e-6));
  CHECK(slower.points()[2].seconds == doctest::Approx(5e-3));
  CHECK(slower.at(10'000) >= 10e-3);
  CHECK(curve.at_most(1e12).at(1500) == doctest::Approx(curve.at(1500)));
}
