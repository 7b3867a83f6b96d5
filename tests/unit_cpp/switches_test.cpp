// SPDX-License-Identifier: Apache-2.0
// Checks schedules for several switches: results in every shape and order, and how often bytes cross an uplink.
#include <algorithm>
#include <numeric>
#include <random>

#include <doctest/doctest.h>

#include "antiphon/places.hpp"
#include "antiphon/verify.hpp"
#include "most_ranks.hpp"
#include "network/switches.hpp"
#include "patterns/levels.hpp"

using namespace antiphon;

namespace {

int sum_of(const std::vector<int>& sizes) { return std::accumulate(sizes.begin(), sizes.end(), 0); }

std::vector<int> shuffled(int size, std::uint32_t seed) {
  std::vector<int> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  return order;
}

/// All shapes of so many ranks on two or three switches that are not all alike.
std::vector<std::vector<int>> shapes_of(int ranks) {
  std::vector<std::vector<int>> shapes;
  for (const int first : {1, ranks / 2}) {
    shapes.push_back({first, ranks - first});
    if (first + 1 < ranks) shapes.push_back({first, 1, ranks - first - 1});
  }
  return shapes;
}

/// Returns whether the algorithm supports the case.
bool expect_right(const Algorithm& a, const Case& c) {
  const Checked found = check_supported(a, c);
  CHECK_MESSAGE(!found.wrong, found.wrong.value_or(""));
  return found.supported;
}

/// Returns how many cases the algorithm supports.
int sweep(const Algorithm& a, const std::vector<int>& switches, const std::vector<int>& nodes) {
  const int size = sum_of(switches);
  std::uint64_t seed = 1;
  int checked = 0;
  for (const std::vector<int>& order : {std::vector<int>{}, shuffled(size, 7)}) {
    for (const std::int64_t bytes : {8, 56, 4000}) {
      for (const bool in_place : {false, true}) {
        Case c{a.collective, size, size / 3, bytes, 8, true, in_place, ++seed, {}, order, nodes, switches};
        if (bytes < 4000 || in_place) c.parameters = {{"segment_bytes", 16}};
        if (!order.empty() && bytes == 56) c.parameters.push_back({"encode", 1});
        checked += expect_right(a, c);
      }
    }
  }
  return checked;
}

/// What leaves a switch in a call of ranks that lie on switches at random, by switch.
std::vector<std::int64_t> bytes_up(const Algorithm& a, std::int64_t bytes, int root,
                                   const Parameters& parameters = {}) {
  constexpr int ranks = 16;
  Topology topology{{{"top"}, {"a", 0, 1e9}, {"b", 0, 1e9}}, {}};
  const std::vector<int> random = shuffled(ranks, 3);
  for (const int number : random) topology.nodes.push_back({"", 1 + number % 2, 1e9});
  std::vector<int> nodes(ranks);
  std::iota(nodes.begin(), nodes.end(), 0);
  const auto places = places_along(nodes, topology, has_root(a.collective) ? std::optional(root) : std::nullopt);
  std::vector<std::int64_t> up(2);
  for (int rank = 0; rank < ranks; ++rank) {
    Problem p{a.collective, rank, ranks, root, bytes, 8};
    p.parameters = resolve_parameters(a, parameters);
    p.order = places.order;
    p.node_sizes = places.node_sizes;
    p.switch_sizes = places.switch_sizes;
    REQUIRE(supports(a, p));
    const auto switch_of = [&](int r) { return topology.nodes[static_cast<std::size_t>(r)].switch_index - 1; };
    const Schedule schedule = build_schedule(a, p);
    for (const Op& op : schedule.ops()) {
      if (op.kind == OpKind::send && switch_of(op.peer) != switch_of(rank))
        up[static_cast<std::size_t>(switch_of(rank))] += op.bytes();
    }
  }
  return up;
}

}  // namespace

TEST_CASE("algorithms for several switches give the reference's result for every number of ranks") {
  int found = 0;
  for (const Algorithm* a : algorithms()) {
    Problem p{a->collective, 0, 4, 0, 64, 8};
    p.parameters = resolve_parameters(*a, {});
    p.switch_sizes = {2, 2};
    const bool with = supports(*a, p);
    p.switch_sizes.clear();
    if (!with || supports(*a, p)) continue;
    ++found;
    CAPTURE(std::string(name(a->collective)));
    CAPTURE(std::string(a->name));
    for (int ranks = 3; ranks <= most_ranks(17); ++ranks) {
      int checked = 0;
      for (const auto& shape : shapes_of(ranks)) checked += sweep(*a, shape, {});
      CHECK_MESSAGE(checked > 0, "nothing was checked on ", ranks, " ranks");
    }
  }
  CHECK(found >= 7);
}

TEST_CASE("a nested algorithm may use rings of switches among nodes") {
  for (const auto& [collective, outer] :
       {std::pair{Collective::allgather, 2}, {Collective::allreduce, 4}, {Collective::reduce_scatter_block, 3}}) {
    const Algorithm& a = *find_algorithm(collective, "nested");
    Case c{collective, 14, 0, 800, 8, true, false, 5, {{"outer", outer}}, shuffled(14, 2), {2, 3, 2, 3, 4}, {7, 7}};
    c.parameters = resolve_parameters(a, c.parameters);
    REQUIRE(expect_right(a, c));
    c.switch_sizes.clear();
    CHECK_FALSE(supports(a, problems_of(c)[0]));
  }
}

TEST_CASE("each byte crosses an uplink once, whatever the order of ranks") {
  constexpr std::int64_t m = 8000;
  using Bytes = std::vector<std::int64_t>;
  const auto with = [](Collective collective, const char* name, int root = 0, const Parameters& parameters = {}) {
    return bytes_up(*find_algorithm(collective, name), m, root, parameters);
  };
  for (int root = 0; root < 16; ++root) {
    const Bytes bcast = with(Collective::bcast, "chain", root);
    CHECK(bcast[0] + bcast[1] == m);
    const Bytes reduce = with(Collective::reduce, "chain", root);
    CHECK(reduce[0] + reduce[1] == m);
    CHECK(std::max(bcast[0], reduce[0]) == m);
    CHECK(with(Collective::bcast, "nested", root, {{"outer", 1}}) == bcast);
    CHECK(with(Collective::reduce, "nested", root, {{"outer", 1}}) == reduce);
  }
  CHECK(with(Collective::allreduce, "switch_rings") == Bytes{m, m});
  CHECK(with(Collective::allreduce, "reduce_bcast", 0, {{"radix", 1}}) == Bytes{m, m});
  CHECK(with(Collective::allgather, "switch_rings") == Bytes{8 * m, 8 * m});
  CHECK(with(Collective::reduce_scatter_block, "switch_rings") == Bytes{8 * m, 8 * m});
  CHECK(with(Collective::allgather, "ring") == Bytes{15 * m, 15 * m});
  CHECK(with(Collective::alltoall, "rotated") == Bytes{64 * m, 64 * m});
}

TEST_CASE("switches may have so many ranks that the product of two numbers of ranks is no int") {
  constexpr int side = 1 << 16;
  Problem p{.collective = Collective::allgather, .size = 2 * side, .bytes = 1};
  p.node_sizes = blocked_nodes(p.size, 64);
  p.switch_sizes = {side, side};
  const Algorithm& rings = *find_algorithm(p.collective, "switch_rings");
  p.parameters = resolve_parameters(rings, {});
  for (const int rank : {0, p.size - 1}) {
    p.rank = rank;
    std::int64_t received = 0;
    const Schedule schedule = rings.build(p);
    for (const Op& op : schedule.ops()) received += op.kind == OpKind::recv ? op.bytes() : 0;
    CHECK(received == p.size - 1);
    const Levels switches = Levels::of_switches(p, side);
    CHECK(switches.leader(1, side - 1) == p.size - 1);
    CHECK(switches.lane(1, side - 1).size() == 1);
  }
}

TEST_CASE("ranks stand along the tree, nearest to the root first") {
  // Two pods of two switches each; nodes are on them in turn.
  const Topology tree{{{"top"}, {"pod", 0}, {"a", 1}, {"b", 1}, {"pod", 0}, {"c", 4}, {"d", 4}}, {}};
  Topology topology = tree;
  for (const int leaf : {2, 5, 3, 6, 2, 5, 3, 6}) topology.nodes.push_back({"", leaf});
  std::vector<int> nodes(8);
  std::iota(nodes.begin(), nodes.end(), 0);
  const Places plain = places_along(nodes, topology, std::nullopt);
  CHECK(plain.order == std::vector<int>{0, 4, 2, 6, 1, 5, 3, 7});
  CHECK(plain.switch_sizes == std::vector<int>{2, 2, 2, 2});
  CHECK(plain.node_sizes == std::vector<int>(8, 1));
  CHECK(places_along(nodes, topology, 7).order == std::vector<int>{7, 3, 1, 5, 0, 4, 2, 6});
  CHECK(places_along(nodes, topology, 2).order == std::vector<int>{2, 6, 0, 4, 1, 5, 3, 7});
  // Two ranks a node, dealt out: the root leads its node, and its node the switch.
  const Places dealt = places_along(std::vector<int>{0, 1, 4, 5, 0, 1, 4, 5}, topology, 6);
  CHECK(dealt.order == std::vector<int>{6, 2, 0, 4, 1, 5, 3, 7});
  CHECK(dealt.node_sizes == std::vector<int>{2, 2, 2, 2});
  CHECK(dealt.switch_sizes == std::vector<int>{4, 4});
  // A switch below another that has nodes itself, as a probe finds two.
  const Topology below{{{"one"}, {"two", 0}}, {{"", 0}, {"", 1}, {"", 0}, {"", 1}}};
  CHECK(places_along(std::vector<int>{0, 1, 2, 3}, below, std::nullopt).order == std::vector<int>{0, 2, 1, 3});
  CHECK(places_along(std::vector<int>{0, 1, 2, 3}, below, 3).order == std::vector<int>{3, 1, 0, 2});
  // One switch: only nodes matter, and ranks that follow one another stay.
  CHECK(places_along(std::vector<int>{0, 4, 0}, topology, 1).order == std::vector<int>{0, 2, 1});
  CHECK(places_along(std::vector<int>{4, 4, 0}, topology, std::nullopt).order.empty());
  CHECK(places_along(std::vector<int>{4, 4, 0}, topology, std::nullopt).switch_sizes.empty());
}

TEST_CASE("switches are found by the names of nodes") {
  const Topology measured{{{"core"}, {"left", 0, 1e7}, {"right", 0, 1e7}},
                          {{"n1.site", 1, 5}, {"n2", 2, 6}, {"n3", 1, 7}}};
  const auto found = network::topology_of_names(measured, {"n3.site", "n2"});
  REQUIRE(found);
  CHECK(found->nodes[0].switch_index == 1);
  CHECK(found->nodes[0].port_bytes_per_s == 7);
  CHECK(found->nodes[1].switch_index == 2);
  CHECK_FALSE(network::topology_of_names(measured, {"n3", "n2", "other"}));
  CHECK_FALSE(network::topology_of_names(measured, {"n3", "n1"}));

  const auto slurm = network::topology_of_addresses({"s0.leaf1.n1", "s0.leaf2.n2", "s0.leaf1.n3"});
  REQUIRE(slurm);
  CHECK(slurm->nodes[0].switch_index == slurm->nodes[2].switch_index);
  CHECK(slurm->nodes[0].switch_index != slurm->nodes[1].switch_index);
  CHECK_FALSE(network::topology_of_addresses({"n1", "n2"}));
  CHECK_FALSE(network::topology_of_addresses({"s.n1", "s.n2"}));
  CHECK_FALSE(network::topology_of_addresses({"", ""}));

  const std::vector<std::string> nodes{"n1", "n2"};
  CHECK(network::addresses_of_text("a=n1;top.b=n2,n3", nodes) == std::vector<std::string>{"a.n1", "top.b.n2"});
  for (const char* text : {"", "a", "a=n1", "=n1,n2", "a=n1,n2;", "a=n1,,n3"})
    CHECK(network::addresses_of_text(text, nodes).empty());
}
