// SPDX-License-Identifier: Apache-2.0
// Checks schedules for several ranks a node: every shape, root and way among nodes, and other orders of ranks.
#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include <doctest/doctest.h>

#include "antiphon/verify.hpp"
#include "most_ranks.hpp"

using namespace antiphon;

namespace {

const std::vector<std::vector<int>> shapes = {{1, 2},       {2, 1},    {3, 3},       {1, 1, 3},          {4, 2, 1},
                                              {2, 2, 2, 2}, {5, 1, 4}, {2, 3, 1, 4}, {3, 3, 3, 3, 3, 2}, {16, 1}};

int ranks_of(const std::vector<int>& shape) { return std::accumulate(shape.begin(), shape.end(), 0); }

/// Each way among nodes has so many sets of parameters, plain ones first.
constexpr int sets_of_a_way = 3;

/// Lists every way among nodes, alone and with each other parameter at a few values.
std::vector<Parameters> parameter_sets(const Algorithm& a) {
  const Parameter& outer = a.parameters[0];
  REQUIRE(outer.name == "outer");
  std::vector<Parameters> sets;
  for (std::int64_t way = outer.min; way <= outer.max; ++way) {
    const auto add = [&](std::int64_t segment, std::int64_t lanes) {
      Parameters set{{"outer", way}};
      for (const Parameter& p : a.parameters) {
        if (p.name == "segment_bytes") set.push_back({"segment_bytes", segment});
        if (p.name == "window") set.push_back({"window", 1 + way});
        if (p.name == "lanes") set.push_back({"lanes", lanes});
        if (p.name == "inner") set.push_back({"inner", lanes});
      }
      sets.push_back(set);
    };
    add(0, 1);
    add(16, 2);
    add(80, 3);
  }
  return sets;
}

/// Tells whether this way among nodes is for several switches.
bool needs_switches(const Algorithm& a, const Parameters& parameters) {
  const std::string_view meaning = a.parameters[0].meaning;
  return parameters[0].value == a.parameters[0].max && meaning.ends_with("switch_rings");
}

void expect_right_nested(const Algorithm& a, const Case& c) {
  const Checked found = check_supported(a, c);
  CHECK_MESSAGE(!found.wrong, found.wrong.value_or(""));
  REQUIRE((found.supported || needs_switches(a, c.parameters)));
}

void sweep_shape(const Algorithm& a, const std::vector<int>& shape, const std::vector<int>& order) {
  const int size = ranks_of(shape);
  std::uint64_t seed = 1;
  int number = 0;
  for (const Parameters& parameters : parameter_sets(a)) {
    ++number;
    for (const std::int64_t bytes : {0, 8, 56, 400}) {
      if (bytes > 0 && a.collective == Collective::barrier) continue;
      for (int root = 0; root < (has_root(a.collective) ? size : 1); ++root) {
        if (!order.empty() && has_root(a.collective) && root != size / 2) continue;
        // Every root runs once with each way; with other parameters, the first, the last, and another one each time.
        const bool every_root = number % sets_of_a_way == 1;
        if (!every_root && order.empty() && root != 0 && root != number % size && root != size - 1) continue;
        for (const bool in_place : {false, true}) {
          Case c{a.collective, size, root, bytes, 8, true, in_place, ++seed, parameters, order, shape};
          expect_right_nested(a, c);
          if (root > 1) continue;
          c.parameters.push_back({"encode", 1});
          expect_right_nested(a, c);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("in a nested all-to-all, two nodes have one connection a lane") {
  const Algorithm& a = *find_algorithm(Collective::alltoall, "nested");
  constexpr int nodes = 5;
  constexpr int ranks_per_node = 4;
  const auto connections = [&](std::int64_t lanes) {
    std::set<std::pair<int, int>> found;
    for (int rank = 0; rank < nodes * ranks_per_node; ++rank) {
      Problem p{Collective::alltoall, rank, nodes * ranks_per_node, 0, 64};
      p.parameters = resolve_parameters(a, {{"lanes", lanes}});
      p.node_sizes = blocked_nodes(p.size, ranks_per_node);
      const Schedule schedule = build_schedule(a, p);
      for (const Op& op : schedule.ops()) {
        const bool leaves = op.kind == OpKind::send && op.peer / ranks_per_node != rank / ranks_per_node;
        if (leaves) found.emplace(rank, op.peer);
      }
    }
    return found.size();
  };
  CHECK(connections(1) == nodes * (nodes - 1));
  CHECK(connections(3) == 3 * nodes * (nodes - 1));
  CHECK(connections(16) == ranks_per_node * nodes * (nodes - 1));
}

TEST_CASE("a nested allgather's lanes are rings of their own, and a reduction's share out the node's part") {
  constexpr int nodes = 5;
  constexpr int ranks_per_node = 4;
  constexpr std::int64_t bytes = 4096;
  for (const Collective collective : {Collective::allgather, Collective::reduce_scatter_block}) {
    const Algorithm& a = *find_algorithm(collective, "nested");
    for (const std::int64_t lanes : {1, 2, 4}) {
      std::set<int> leaders;
      std::int64_t left_bytes = 0;
      for (int rank = 0; rank < nodes * ranks_per_node; ++rank) {
        Problem p{collective, rank, nodes * ranks_per_node, 0, bytes, 8};
        p.parameters = resolve_parameters(a, {{"lanes", lanes}, {"outer", 1}});
        p.node_sizes = blocked_nodes(p.size, ranks_per_node);
        const Schedule schedule = build_schedule(a, p);
        for (const Op& op : schedule.ops()) {
          if (op.kind != OpKind::send || op.peer / ranks_per_node == rank / ranks_per_node) continue;
          leaders.insert(rank);
          left_bytes += op.bytes();
        }
      }
      CHECK(std::ssize(leaders) == lanes * nodes);
      CHECK(left_bytes == nodes * (nodes - 1) * ranks_per_node * bytes);
    }
  }
}

TEST_CASE("nested algorithms give the reference's result in every shape and order") {
  int found = 0;
  for (const Algorithm* a : algorithms()) {
    if (!a->levels) continue;
    ++found;
    CAPTURE(std::string(name(a->collective)));
    CHECK(may_reorder(*a, true));
    for (const auto& shape : shapes) {
      if (ranks_of(shape) > most_ranks(17)) continue;
      sweep_shape(*a, shape, {});
      std::vector<int> order(static_cast<std::size_t>(ranks_of(shape)));
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<std::uint32_t>(shape.size())));
      sweep_shape(*a, shape, order);
    }
  }
  CHECK(found > 10);
}
