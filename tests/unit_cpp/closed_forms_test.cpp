// SPDX-License-Identifier: Apache-2.0
// Checks the papers' closed forms: how they relate to each other, and that the evaluator agrees where they hold.
#include <cmath>

#include <doctest/doctest.h>

#include "antiphon/closed_forms.hpp"
#include "antiphon/cost.hpp"
#include "cost_clusters.hpp"
#include "near.hpp"

using namespace antiphon;

namespace {

/// The processors of these links cost nothing, as the closed forms assume; those of icluster-2 are similar (paper 5,
/// Figure 1: Gigabit Ethernet).
LinkClass plain_link(double base_s = 20e-6, double bytes_per_s = 100e6) {
  return {"plain", Scope::same_switch, 40e-6, Curve({{0, 0}}), Curve({{0, 0}}), Curve::line(base_s, bytes_per_s)};
}

Profile plain_profile(const LinkClass& link, int nodes) {
  Profile profile;
  profile.link_classes = {link};
  profile.topology.switches.push_back({"switch"});
  profile.topology.nodes.assign(static_cast<std::size_t>(nodes), {"", 0, 100e6});
  // Copies in memory take no time in the closed forms.
  profile.processors.copy_bytes_per_s = 1e15;
  profile.processors.reduce_bytes_per_s = 1e15;
  return profile;
}

double form(Collective collective, std::string_view name, int ranks, std::int64_t bytes, const LinkClass& link,
            std::int64_t segment = 0, double gamma = 0) {
  const ClosedForm* found = find_closed_form(collective, name);
  REQUIRE(found != nullptr);
  return found->seconds({ranks, bytes, segment, 2, gamma}, link);
}

double evaluated(Collective collective, const std::string& choice, int ranks, std::int64_t bytes,
                 const LinkClass& link) {
  const Choice parsed = parse_choice(collective, choice);
  const auto prediction = predict({collective, bytes}, *parsed.algorithm, parsed.parameters,
                                  Cluster::blocked(plain_profile(link, ranks), ranks, 1));
  REQUIRE(prediction);
  return prediction->seconds;
}

}  // namespace

TEST_CASE("every row of the papers' tables is there") {
  int bcast = 0, scatter = 0, gather = 0, alltoall = 0, allgather = 0;
  for (const ClosedForm& f : closed_forms()) {
    CHECK_FALSE(f.formula.empty());
    CHECK(f.seconds({16, 65536, 8192, 2, 0.4}, plain_link()) > 0);
    bcast += f.collective == Collective::bcast;
    scatter += f.collective == Collective::scatter;
    gather += f.collective == Collective::gather;
    alltoall += f.collective == Collective::alltoall;
    allgather += f.collective == Collective::allgather;
  }
  CHECK(bcast == 10);
  CHECK(scatter == 4);
  CHECK(gather == 4);
  CHECK(alltoall == 3);
  CHECK(allgather == 5);
}

TEST_CASE("the evaluator agrees with the broadcast models where they hold") {
  const LinkClass link = plain_link();
  for (const int p : {2, 4, 8, 16, 24}) {
    CAPTURE(p);
    for (const std::int64_t m : {std::int64_t{1024}, std::int64_t{65536}, std::int64_t{1} << 20}) {
      CAPTURE(m);
      CHECK(evaluated(Collective::bcast, "chain:segment_bytes=0", p, m, link) ==
            near(form(Collective::bcast, "chain", p, m, link), 0.001));
      if (m > 8192) {
        CHECK(evaluated(Collective::bcast, "chain:segment_bytes=8k,window=64", p, m, link) ==
              near(form(Collective::bcast, "chain_segmented", p, m, link, 8192), 0.001));
      }
      // Messages to different ranks share the root's port: all end together, at the time at which the last of a
      // sequence would.
      CHECK(evaluated(Collective::bcast, "flat:segment_bytes=0", p, m, link) ==
            near(form(Collective::bcast, "flat", p, m, link), 0.001));
    }
  }
}

TEST_CASE("binomial trees on powers of two") {
  const LinkClass link = plain_link();
  for (const int p : {2, 4, 8, 16}) {
    CAPTURE(p);
    const double model = form(Collective::bcast, "binomial", p, 32768, link);
    const double time = evaluated(Collective::bcast, "binomial:segment_bytes=0", p, 32768, link);
    CHECK(time == near(model, 0.001));
  }
}

TEST_CASE("asking the receiver first costs what the tables say") {
  const LinkClass link = plain_link();
  const double asking = 2 * link.gap.at(1) + 2 * link.latency_s;
  CHECK(form(Collective::bcast, "flat_rendezvous", 8, 4096, link) - form(Collective::bcast, "flat", 8, 4096, link) ==
        doctest::Approx(asking));
  CHECK(form(Collective::bcast, "chain_rendezvous", 8, 4096, link) - form(Collective::bcast, "chain", 8, 4096, link) ==
        doctest::Approx(7 * asking));
  CHECK(form(Collective::bcast, "binomial_rendezvous", 8, 4096, link) -
            form(Collective::bcast, "binomial", 8, 4096, link) ==
        doctest::Approx(3 * asking));
}

TEST_CASE("the segmented chain wins for long messages, the binomial tree for short ones (paper 5, Figure 5)") {
  const LinkClass link = plain_link();
  const auto chain = [&](std::int64_t m) {
    const std::int64_t s = search_segment_bytes(
        m, 256, [&](std::int64_t size) { return form(Collective::bcast, "chain_segmented", 16, m, link, size); });
    return form(Collective::bcast, "chain_segmented", 16, m, link, s);
  };
  CHECK(chain(1 << 20) < form(Collective::bcast, "binomial", 16, 1 << 20, link));
  CHECK(chain(1 << 20) < form(Collective::bcast, "flat", 16, 1 << 20, link));
  CHECK(chain(64) > form(Collective::bcast, "binomial", 16, 64, link));
}

TEST_CASE("the search finds the segment size that calculus finds") {
  // The minimum of (P−1)(b + s/r + L) + (b + s/r)(m/s − 1) is at s = sqrt(m b r / (P−2)).
  const LinkClass link = plain_link();
  const std::int64_t m = 1 << 22;
  const double best = std::sqrt(static_cast<double>(m) * 20e-6 * 100e6 / 14);
  const auto cost = [&](std::int64_t s) { return form(Collective::bcast, "chain_segmented", 16, m, link, s); };
  const std::int64_t found = search_segment_bytes(m, 256, cost);
  CHECK(static_cast<double>(found) == near(best, 0.15));
  CHECK(cost(found) <= cost(static_cast<std::int64_t>(best)) * 1.002);
  CHECK(search_segment_bytes(100, 256, cost) == 100);
}

TEST_CASE("binomial scatter has the shape of stairs, flat scatter of a line (paper 5, Figures 7 and 8)") {
  const LinkClass link = plain_link();
  for (const char* collective : {"scatter", "gather"}) {
    const Collective c = *collective_from_name(collective);
    const auto binomial = [&](int p) { return form(c, "binomial", p, 1024, link); };
    const auto flat = [&](int p) { return form(c, "flat", p, 1024, link); };
    CHECK(binomial(17) == binomial(32));
    CHECK(binomial(33) > binomial(32) * 1.2);
    CHECK(binomial(9) == binomial(16));
    CHECK(flat(20) - flat(19) == doctest::Approx(flat(33) - flat(32)));
  }
}

TEST_CASE(
    "the scatters cross (paper 5, Figure 9): many ranks and short blocks for the tree, long blocks for the flat one") {
  const LinkClass link = plain_link();
  for (const std::int64_t m : {64, 256, 1024}) {
    CHECK(form(Collective::scatter, "binomial", 24, m, link) < form(Collective::scatter, "flat", 24, m, link));
  }
  CHECK(form(Collective::scatter, "binomial", 24, 1 << 20, link) >
        form(Collective::scatter, "flat", 24, 1 << 20, link));
  // The evaluator sees the same crossing.
  CHECK(evaluated(Collective::scatter, "binomial:piece_bytes=0", 24, 64, link) <
        evaluated(Collective::scatter, "flat:piece_bytes=0", 24, 64, link));
  CHECK(evaluated(Collective::scatter, "binomial:piece_bytes=0", 24, 1 << 20, link) >
        evaluated(Collective::scatter, "flat:piece_bytes=0", 24, 1 << 20, link));
}

TEST_CASE("flat and binomial scatter and gather: the evaluator agrees with Table 2 where it holds") {
  const LinkClass link = plain_link();
  for (const int p : {2, 4, 8, 16}) {
    CAPTURE(p);
    CHECK(evaluated(Collective::scatter, "flat:piece_bytes=0", p, 16384, link) ==
          near(form(Collective::scatter, "flat", p, 16384, link), 0.15));
    // Messages that go at once share the port, and the farthest child's, which others wait for, is the last of them.
    CHECK(evaluated(Collective::scatter, "binomial:piece_bytes=0,window=1", p, 16384, link) ==
          near(form(Collective::scatter, "binomial", p, 16384, link), 0.001));
    CHECK(evaluated(Collective::gather, "flat:piece_bytes=0,eager_bytes=64k,senders=1024", p, 16384, link) ==
          near(form(Collective::gather, "flat", p, 16384, link), 0.15));
  }
}

TEST_CASE("an all-to-all lies between its bounds (paper 5, Section 5)") {
  LinkClass link = plain_link();
  link.send_overhead = Curve::line(5e-6, 2e9);
  link.receive_overhead = Curve::line(6e-6, 2e9);
  const double low = form(Collective::alltoall, "lower", 24, 65536, link);
  const double high = form(Collective::alltoall, "upper", 24, 65536, link);
  CHECK(low < high);
  CHECK(form(Collective::alltoall, "contended", 24, 65536, link, 0, 0) == low);
  CHECK(form(Collective::alltoall, "contended", 24, 65536, link, 0, 1) == doctest::Approx(high));
  CHECK(form(Collective::alltoall, "contended", 24, 65536, link, 0, 0.4) == doctest::Approx(low + 0.4 * (high - low)));
}

TEST_CASE("concurrent exchange: T2 − T3 is the last step less what initiating costs (paper 4, equation 4)") {
  LinkClass link = plain_link();
  link.send_overhead = Curve({{0, 3e-6}});
  const auto t = [&](const char* name, int p, std::int64_t m) { return form(Collective::allgather, name, p, m, link); };
  for (const int p : {4, 8, 64, 128}) {
    const std::int64_t m = 1024;
    const double last = link.gap.at(m * p / 2) + link.latency_s + 3e-6;
    const double steps = std::log2(p / 2);
    CHECK(t("concurrent_gain", p, m) == doctest::Approx(last - 3e-6 - steps * 3e-6));
    CHECK(t("concurrent_gain", p, m) == doctest::Approx(t("exchange", p, m) - t("concurrent_exchange", p, m)));
    CHECK(t("exchange_blocking", p, m) > 1.9 * t("exchange", p, m) - 10 * 3e-6);
    CHECK(t("split_exchange", p, 65536) < t("exchange", p, 65536));
  }
}

TEST_CASE("recursive doubling: the evaluator agrees with paper 4's equation 2") {
  const LinkClass link = plain_link();
  for (const int p : {2, 4, 8, 16, 32}) {
    CHECK(evaluated(Collective::allgather, "recursive_doubling:piece_bytes=0", p, 4096, link) ==
          near(form(Collective::allgather, "exchange", p, 4096, link), 0.01));
  }
}

TEST_CASE("also where no number holds the bytes of all blocks, a doubling adds no less than the one before") {
  for (const ClosedForm& f : closed_forms()) {
    if (f.name == "concurrent_gain") continue;  // a difference
    CAPTURE(f.name);
    const auto added = [&](int ranks) {
      const ClosedFormCall more{2 * ranks, std::int64_t{1} << 50}, call{ranks, std::int64_t{1} << 50};
      return f.seconds(more, plain_link()) - f.seconds(call, plain_link());
    };
    for (int ranks = 1 << 10; ranks < 1 << 18; ranks *= 2) CHECK(added(2 * ranks) >= 0.999999 * added(ranks));
  }
}
