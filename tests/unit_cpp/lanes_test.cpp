// SPDX-License-Identifier: Apache-2.0
// Algorithms for connections that do not fill a port: where they are chosen, and where not.
#include <algorithm>

#include <doctest/doctest.h>

#include "antiphon/library_algorithms.hpp"
#include "antiphon/model_choice.hpp"

using namespace antiphon;

namespace {

constexpr int lane_nodes = 16;
constexpr std::int64_t long_bytes = 1 << 20;
constexpr std::int64_t lane_bits_per_s = 100'000'000;

std::optional<ModelAnswer> answer_for(Collective collective, const Cluster& cluster) {
  const Question q{.collective = collective,
                   .ranks = lane_nodes,
                   .nodes = lane_nodes,
                   .max_ranks_per_node = 1,
                   .bytes = long_bytes,
                   .element_bytes = 8,
                   .link_bits_per_s = lane_bits_per_s,
                   .mpi = "openmpi"};
  const Rules& rules = Rules::defaults();
  return ask_model(q, cluster, rules.choose(q), rules.choose_own(q), LibraryAlgorithms::of("openmpi Open MPI v5.0.11"));
}

/// Nodes with a rank each, of which each connection carries a quarter of the port.
Cluster paced_cluster() {
  constexpr double connection_bytes_per_s = lane_bits_per_s / 8.0 / 4;
  Profile profile = Profile::guess(lane_nodes, 1, lane_bits_per_s);
  for (LinkClass& link : profile.link_classes) {
    link.connection_way_bytes_per_s = connection_bytes_per_s;
    link.gap = Curve::line(20e-6, connection_bytes_per_s);
  }
  profile.first_guess = false;
  return Cluster::blocked(profile, lane_nodes, 1);
}

constexpr Collective with_lanes[] = {Collective::bcast, Collective::reduce, Collective::allreduce,
                                     Collective::reduce_scatter_block};

}  // namespace

TEST_CASE("lanes: long messages go over several connections where one does not fill a port") {
  const double limit_s = static_cast<double>(long_bytes) * 8 / lane_bits_per_s;
  for (const Collective collective : with_lanes) {
    CAPTURE(name(collective));
    const auto answer = answer_for(collective, paced_cluster());
    REQUIRE(answer);
    CHECK(answer->own.algorithm->many_connections);
    const double ports_s = limit_s * (collective == Collective::allreduce              ? 2
                                      : collective == Collective::reduce_scatter_block ? lane_nodes - 1
                                                                                       : 1);
    CHECK(answer->own_s > 0.9 * ports_s);
    CHECK(answer->own_s < 1.6 * ports_s);
  }
}

TEST_CASE("lanes: one connection that fills a port is enough") {
  const Cluster cluster = Cluster::blocked(Profile::guess(lane_nodes, 1, lane_bits_per_s), lane_nodes, 1);
  const auto uses_many = [](const RankedChoice& one) { return one.algorithm->many_connections; };
  for (const Collective collective : with_lanes) {
    CAPTURE(name(collective));
    const auto answer = answer_for(collective, cluster);
    CHECK((!answer || !answer->own.algorithm->many_connections));
    const PredictedCall call{.collective = collective, .bytes = long_bytes, .element_bytes = 8};
    const auto fast = rank_candidates(call, cluster, {.parameters = false});
    CHECK(std::none_of(fast.begin(), fast.end(), uses_many));
    const auto slow = rank_candidates(call, paced_cluster(), {.parameters = false});
    CHECK(std::any_of(slow.begin(), slow.end(), uses_many));
  }
}
