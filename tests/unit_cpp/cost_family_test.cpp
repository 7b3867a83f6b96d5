// SPDX-License-Identifier: Apache-2.0
// Simulates every algorithm with sampled parameters on sampled clusters: none may end in a deadlock.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <random>
#include <string>

#include "antiphon/cost.hpp"
#include "antiphon/error.hpp"
#include "cost_clusters.hpp"
#include "most_ranks.hpp"

using namespace antiphon;

namespace {

/// Draws from short lists, the same on every machine.
class Draw {
 public:
  explicit Draw(std::uint32_t seed) : random_(seed) {}
  std::size_t below(std::size_t count) { return random_() % count; }
  template <std::size_t N>
  std::int64_t of(const std::array<std::int64_t, N>& values) {
    return values[below(N)];
  }

 private:
  std::mt19937 random_;
};

/// Makes a machine of up to three switches, in a chain or around one without nodes, with or without shared cores,
/// bursts, losses and incast.
Profile drawn_profile(Draw& draw, int nodes) {
  Profile profile = simple_profile(nodes, fast_ethernet);
  profile.link_classes[0].eager_bytes = draw.of<2>({4096, 65536});
  profile.link_classes.insert(profile.link_classes.begin(), {"node", Scope::node, 1e-6, Curve({{0, 1e-7}}),
                                                             Curve({{0, 1e-7}}), Curve::line(1e-6, 1e9)});
  profile.multicast = {true, 40e-6, Curve::line(20e-6, fast_ethernet), 100e-6};
  const auto switches = 1 + draw.below(3);
  const bool bare_root = draw.below(2) == 0;
  for (std::size_t s = 1; s < switches; ++s)
    profile.topology.switches.push_back({"", bare_root ? 0 : static_cast<int>(s) - 1, fast_ethernet});
  const std::size_t first = bare_root && switches > 1 ? 1 : 0;
  for (std::size_t n = 0; n < profile.topology.nodes.size(); ++n) {
    profile.topology.nodes[n].switch_index =
        static_cast<int>(first + n * (switches - first) / profile.topology.nodes.size());
    if (draw.below(2) == 0) profile.topology.nodes[n].burst_bytes = 8192;
  }
  if (draw.below(3) == 0) profile.processors = {2, nodes, 1e-6};
  if (draw.below(2) == 0) profile.contention.port_buffer_bytes = 65536;
  if (draw.below(2) == 0) profile.contention.incast = {{2, 1024, 1.3}, {4, 1024, 2.0}};
  return profile;
}

Cluster drawn_cluster(Draw& draw, int ranks) {
  const auto per_node = static_cast<int>(draw.of<3>({1, 2, 4}));
  const int nodes = (ranks + per_node - 1) / per_node;
  const Profile profile = drawn_profile(draw, nodes);
  return draw.below(2) == 0 ? Cluster::blocked(profile, ranks, per_node) : Cluster::round_robin(profile, ranks, nodes);
}

Parameters drawn_parameters(Draw& draw, const Algorithm& algorithm) {
  Parameters parameters;
  for (const Parameter& p : algorithm.parameters) {
    const bool cuts = p.name.ends_with("_bytes");
    const std::int64_t value = cuts ? draw.of<3>({0, 1024, 8192}) : draw.of<5>({0, 1, 2, 4, 64});
    if (draw.below(4) > 0 && value >= p.min && value <= p.max) parameters.push_back({std::string(p.name), value});
  }
  return parameters;
}

void expect_an_end(const PredictedCall& call, const Choice& choice, const Cluster& cluster) {
  const std::string what = std::string(name(call.collective)) + ":" + choice.to_string() + " of " +
                           std::to_string(call.bytes) + " bytes on " + std::to_string(cluster.ranks()) + " ranks, " +
                           std::to_string(cluster.nodes()) + " nodes";
  CAPTURE(what);
  try {
    const auto prediction = predict(call, *choice.algorithm, choice.parameters, cluster);
    if (prediction) CHECK((std::isfinite(prediction->seconds) && prediction->seconds >= 0));
  } catch (const Error& error) {
    FAIL_CHECK(std::string(error.what()));
  }
}

}  // namespace

TEST_CASE("every algorithm comes to its end on every machine of a family") {
  // Multicasts are the ones whose flows wait for one another.
  std::uint32_t seed = 0;
  for (const Algorithm* algorithm : algorithms()) {
    for (int i = 0; i < (algorithm->multicasts ? 40 : 12) / (few_ranks() ? 4 : 1); ++i) {
      Draw draw(++seed);
      const auto ranks = static_cast<int>(1 + draw.below(17));
      const Cluster cluster = drawn_cluster(draw, ranks);
      PredictedCall call{algorithm->collective, draw.of<5>({0, 8, 1000, 16384, 65536})};
      call.root = static_cast<int>(draw.below(static_cast<std::size_t>(ranks)));
      expect_an_end(call, {algorithm, resolve_parameters(*algorithm, drawn_parameters(draw, *algorithm)), ""}, cluster);
    }
  }
}
