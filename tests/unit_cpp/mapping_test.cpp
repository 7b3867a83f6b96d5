// SPDX-License-Identifier: Apache-2.0
// Checks mapping: costs worked out by hand, every method on machines of all kinds, documents, and tasks that do not
// fit.
#include <algorithm>
#include <cmath>
#include <functional>

#include <doctest/doctest.h>

#include "antiphon/error.hpp"
#include "antiphon/mapping.hpp"
#include "mapping/search/digits.hpp"
#include "mapping/search/domains.hpp"
#include "mapping/search/rows.hpp"
#include "mapping/search/shares.hpp"
#include "mapping/search/wander.hpp"
#include "mapping/slot_allocator.hpp"
#include "near.hpp"

using namespace antiphon;
using namespace antiphon::mapping;

namespace {

TrafficGraph grid_traffic(int rows, int columns) {
  std::vector<TrafficEntry> entries;
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) {
      const int rank = r * columns + c;
      if (c + 1 < columns) entries.insert(entries.end(), {{rank, rank + 1, 10, 1e6}, {rank + 1, rank, 10, 1e6}});
      if (r + 1 < rows)
        entries.insert(entries.end(), {{rank, rank + columns, 10, 1e6}, {rank + columns, rank, 10, 1e6}});
    }
  }
  return TrafficGraph::of_entries(rows * columns, entries);
}

/// This avoids operator+, because GCC 12 falsely warns of overlapping memory in it.
std::string numbered(const char* name, int number) { return std::string(name).append(std::to_string(number)); }

/// Makes a machine of `nodes` nodes with `cores` cores each, two nodes per switch, with uplinks.
Machine tree(int nodes, int cores) {
  Machine m;
  m.kinds = {{cores, {{cores, {1e-6, 1e-9}}}, {}}};
  m.switches = {{"top", -1, 0, {2e-5, 1e-8}, {4e-5, 3e-8}}};
  for (int n = 0; n < nodes; ++n) {
    if (n % 2 == 0) m.switches.push_back({numbered("leaf", n / 2), 0, 1e8, {2e-5, 1e-8}, {}});
    m.nodes.push_back({numbered("n", n), 0, static_cast<int>(m.switches.size()) - 1, 1e8});
  }
  return m;
}

/// Makes a machine where pairs of nodes have the distances of a torus, with a little noise.
Machine measured_torus(int x, int y, int cores) {
  Machine m = tree(x * y, cores);
  m.switches = {{"one", -1, 0, {}, {}}};
  for (Node& n : m.nodes) n.switch_index = 0;
  for (int a = 0; a < x * y; ++a) {
    for (int b = 0; b < x * y; ++b) {
      const auto around = [](int p, int q, int d) { return std::min(std::abs(p - q), d - std::abs(p - q)); };
      const int hops = around(a / y, b / y, x) + around(a % y, b % y, y);
      m.between_nodes.push_back({1e-6 * hops, (1 + 0.05 * ((a * 7 + b * 7) % 3)) * 1e-9 * hops});
    }
  }
  return m;
}

Machine uneven() {
  Machine m = tree(5, 4);
  m.kinds.push_back({7, {{2, {5e-7, 5e-10}}, {7, {1e-6, 1e-9}}}, {}});
  m.nodes[1].kind = 1;
  m.nodes[4].kind = 1;
  return m;
}

}  // namespace

TEST_CASE("traffic graphs add up pairs and drop what stays") {
  const TrafficGraph g =
      TrafficGraph::of_entries(3, std::vector<TrafficEntry>{{2, 0, 1, 5}, {0, 1, 1, 10}, {0, 1, 2, 20}, {1, 1, 9, 9}});
  CHECK(g.entries() == 2);
  CHECK(g.messages == std::vector<double>{3, 1});
  CHECK(g.bytes == std::vector<double>{30, 5});
  CHECK(g.first == std::vector<std::int64_t>{0, 1, 1, 2});
  CHECK(TrafficGraph::of_binary(g.to_binary()) == g);
  CHECK(TrafficGraph::parse(R"({"ranks": 3, "entries": [[2, 0, 1, 5], [0, 1, 3, 30]]})") == g);
  CHECK(TrafficGraph::parse(R"({"messages": [[0,3,0],[0,7,0],[1,0,0]], "bytes": [[0,30,0],[0,0,0],[5,0,0]]})") == g);
  CHECK_THROWS_AS(TrafficGraph::of_entries(2, std::vector<TrafficEntry>{{0, 2, 1, 1}}), InvalidArgument);
  CHECK_THROWS_AS(TrafficGraph::of_entries(2, std::vector<TrafficEntry>{{0, 1, -1, 1}}), InvalidArgument);
  const std::string file = g.to_binary();
  for (std::size_t cut = 0; cut < file.size(); ++cut)
    CHECK_THROWS_AS(TrafficGraph::of_binary(file.substr(0, cut)), FormatError);
}

TEST_CASE("costs are those worked out by hand") {
  // Ranks 0 and 1 are on one node, rank 2 is on its neighbour, and rank 3 is below another switch.
  const Task task(
      TrafficGraph::of_entries(4, std::vector<TrafficEntry>{{0, 1, 2, 1000}, {1, 2, 1, 2000}, {3, 0, 4, 8000}}),
      tree(4, 2));
  CHECK(task.objective() == Objective::time);
  const Assignment a = assignment_of_nodes(task, std::vector<int>{0, 0, 1, 2});
  CHECK(a.slot_of_rank == std::vector<int>{0, 1, 2, 4});
  const Costs c = score(task, a);
  CHECK(c.messages_s == doctest::Approx((2e-6 + 1e-6) + (2e-5 + 2e-5) + (1.6e-4 + 2.4e-4)));
  CHECK(c.congestion_s == doctest::Approx(8000 / 1e8));
  CHECK(c.rank_latency_s == doctest::Approx(1.6e-4));
  CHECK(c.rank_volume_s == doctest::Approx(2.4e-4));
  CHECK(c.predicted_s == doctest::Approx(4e-4));
  CHECK(c.hop_bytes == doctest::Approx(2 * 2000 + 4 * 8000));
  CHECK(c.between_nodes_bytes == doctest::Approx(10000));
  const auto loads = link_loads(task, a);
  REQUIRE(loads.size() == 6);
  CHECK(loads[0].bytes == doctest::Approx(8000));
  const auto named = [&](std::string_view name) {
    return std::find_if(loads.begin(), loads.end(), [&](const LinkLoad& l) { return l.name == name; });
  };
  CHECK(named("leaf1 up")->bytes == doctest::Approx(8000));
  CHECK(named("leaf0 down")->bytes == doctest::Approx(8000));
  CHECK(named("n0 out")->bytes == doctest::Approx(2000));
}

TEST_CASE("links of a torus are crossed one dimension after the other") {
  Machine m = measured_torus(4, 3, 1);
  m.torus = Torus{{4, 3}, 1e9};
  const Task task(TrafficGraph::of_entries(12, std::vector<TrafficEntry>{{0, 10, 1, 100}}), m);
  const Assignment a = find_method("block")->place(task, {});
  CHECK(score(task, a).hop_bytes == doctest::Approx(200));
  const auto loads = link_loads(task, a);
  REQUIRE(loads.size() == 2);
  CHECK(loads[0].name == "n0 -0");
  CHECK(loads[1].name == "n9 +1");
}

TEST_CASE("every method serves every task") {
  const std::vector<std::pair<const char*, std::function<Task()>>> tasks{
      {"full tree", [] { return Task(grid_traffic(4, 6), tree(6, 4)); }},
      {"one rank", [] { return Task(grid_traffic(1, 1), tree(2, 2)); }},
      {"few ranks", [] { return Task(grid_traffic(3, 3), tree(8, 4)); }},
      {"uneven", [] { return Task(grid_traffic(5, 5), uneven()); }},
      {"shared cores", [] { return Task(grid_traffic(6, 6), tree(5, 4), {{}, 2, 0}); }},
      {"few a node", [] { return Task(grid_traffic(3, 5), tree(6, 4), {{}, 1, 3}); }},
      {"measured torus", [] { return Task(grid_traffic(6, 8), measured_torus(6, 4, 2), {}, Objective::messages); }},
      {"no traffic", [] { return Task(TrafficGraph::of_entries(5, {}), tree(3, 2)); }},
      {"pins",
       [] { return Task(grid_traffic(5, 5), uneven(), {{{0, 3, -1}, {24, 3, 2}, {7, 0, 0}, {8, 3, -1}}, 1, 0}); }},
  };
  for (const auto& named : tasks) {
    const char* const what = named.first;  // Clang 14 captures no structured binding
    const Task task = named.second();
    const double bound = std::min(objective_value(task, find_method("block")->place(task, {})),
                                  objective_value(task, find_method("cyclic")->place(task, {})));
    for (const Method* method : methods()) {
      if (method->unavailable != nullptr && !method->unavailable().empty()) continue;
      CAPTURE(what);
      CAPTURE(method->name);
      const Assignment a = method->place(task, {0.003, 7});
      CHECK(task.check(a).value_or("") == "");
      if (method->name == "antiphon" || method->name == "unaided")
        CHECK(objective_value(task, a) <= bound * (1 + 1e-9));
    }
  }
}

TEST_CASE("own mapping finds what is best") {
  // These are pairs that the block method separates, and a grid with known best blocks.
  std::vector<TrafficEntry> pairs;
  for (int r = 0; r < 16; ++r) pairs.push_back({r, (r + 16) % 32, 1, 1e6});
  const Task apart(TrafficGraph::of_entries(32, pairs), tree(16, 2), {}, Objective::messages);
  CHECK(score(apart, find_method("antiphon")->place(apart, {0.02, 1})).between_nodes_bytes == 0);
  const Task grid(grid_traffic(8, 8), tree(16, 4), {}, Objective::messages);
  const Assignment a = find_method("antiphon")->place(grid, {0.02, 1});
  // There are 2 · 2 blocks: 8 borders of 8 edges each way in two directions, less the edges within blocks.
  CHECK(score(grid, a).between_nodes_bytes == doctest::Approx(2 * 2 * 3 * 8 * 1e6));
}

TEST_CASE("searches on a torus without powers of two beat block, and are not worse for more time") {
  // The numbers are chosen so that no order is regular.
  std::vector<TrafficEntry> entries;
  const TrafficGraph grid = grid_traffic(24, 24);
  const auto number = [](int rank) { return rank * 247 % 576; };
  for (int r = 0; r < grid.ranks; ++r) {
    for (auto e = static_cast<std::size_t>(grid.first[static_cast<std::size_t>(r)]);
         e < static_cast<std::size_t>(grid.first[static_cast<std::size_t>(r) + 1]); ++e) {
      entries.push_back({number(r), number(grid.to[e]), grid.messages[e], grid.bytes[e]});
    }
  }
  const Task task(TrafficGraph::of_entries(576, entries), measured_torus(6, 8, 12), {}, Objective::messages);
  for (const char* name : {"antiphon", "unaided"}) {
    CAPTURE(name);
    double before = objective_value(task, find_method("block")->place(task, {}));
    for (const double seconds : {0.1, 0.4}) {
      const Assignment a = find_method(name)->place(task, {seconds, 1});
      CHECK(objective_value(task, a) < 1.05 * before);
      before = objective_value(task, a);
    }
  }
}

TEST_CASE("a torus shows in its distances") {
  const Task torus(grid_traffic(8, 8), measured_torus(8, 4, 2), {}, Objective::messages);
  CHECK(detect_grid(Model(torus)) == std::vector<int>{8, 4});
  Machine flat = tree(32, 2);
  const Task plain(grid_traffic(8, 8), flat, {}, Objective::messages);
  CHECK(detect_grid(Model(plain)).empty());
}

TEST_CASE("recursive doubling folds a torus") {
  // On a ring of 8, partners that are 1, 2 and 4 apart need 1, 2 and 4 hops in plain order, and 1, 2 and 2 in the order
  // of Gray's code.
  std::vector<TrafficEntry> entries;
  for (int r = 0; r < 64; ++r) {
    for (int mask = 1; mask < 64; mask *= 2) entries.push_back({r, r ^ mask, 1, 1e6});
  }
  Machine machine = measured_torus(8, 8, 1);
  for (Distance& d : machine.between_nodes) d = {0, std::round(d.latency_s * 1e6) * 1e-9};
  machine.torus = Torus{{8, 8}, 1e9};
  const Task task(TrafficGraph::of_entries(64, entries), machine, {}, Objective::messages);
  const Model model(task);
  const Digits digits(model, Domains(model));
  CHECK(digits.regularity() > 0.99);
  const Model::Placement found = digits.climb(digits.starts().front(), 1e9);
  CHECK(model.total(found) == doctest::Approx(64 * 10 * 1e3));
}

TEST_CASE("regular orders cut grids whose sides have several factors") {
  // Pairs of neighbours in each direction share a node of four; sides of 6 are 2 · 3 and 3 · 2.
  Machine machine = measured_torus(3, 3, 4);
  for (Distance& d : machine.between_nodes) d.seconds_per_byte *= 5;
  const Task task(grid_traffic(6, 6), machine, {}, Objective::messages);
  const Model model(task);
  const Domains domains(model);
  Digits digits(model, domains);
  const auto least = [&] {
    double cost = 1e30;
    for (const auto& start : digits.starts())
      cost = std::min(cost, model.total(digits.climb(start, thread_seconds() + 10)));
    return cost;
  };
  const double halves = least();
  REQUIRE(digits.turn());
  CHECK(least() < 0.9 * halves);
  REQUIRE(digits.turn());
  CHECK(least() == doctest::Approx(halves));
}

TEST_CASE("exchanges by tables are counted rightly and find what single ones find") {
  for (const Machine& machine : {tree(6, 4), measured_torus(3, 2, 4), uneven()}) {
    const Task task(grid_traffic(4, 5), machine, {}, Objective::messages);
    const Model model(task);
    Shares shares(model, 1);
    REQUIRE(shares.usable());
    Model::Placement placement = model.placement(Assignment{[] {
      std::vector<int> slots(20);
      for (int r = 0; r < 20; ++r) slots[static_cast<std::size_t>(r)] = r * 7 % 20;
      return slots;
    }()});
    const double before = model.total(placement);
    shares.set(placement);
    shares.descend(1e9);
    const double after = model.total(shares.placement());
    CHECK(after < before);
    CHECK(!task.check(model.assignment(shares.placement())));
    if (shares.order_matters()) continue;
    // No remaining exchange of two ranks may help.
    placement = shares.placement();
    for (int a = 0; a < model.ranks(); ++a) {
      for (int b = a + 1; b < model.slots(); ++b) CHECK(model.swap_delta(placement.data(), a, b) > -1e-4 * after);
    }
  }
}

TEST_CASE("single ranks that wander between nodes end in places, and the table knows where") {
  for (const Machine& machine : {tree(6, 4), measured_torus(3, 2, 4), uneven()}) {
    const Task task(grid_traffic(4, 5), machine, {}, Objective::messages);
    const Model model(task);
    ShareCosts costs(model);
    const Model::Placement begin = model.placement(cyclic_assignment(task));
    costs.set(begin);
    CHECK(costs.typical_step() > 0);
    Random random(1);
    Wander wander(model, costs, random, begin);
    wander.run(4 * costs.typical_step(), 0.1F * costs.typical_step(), thread_seconds() + 0.02);
    const Model::Placement end = wander.settled();
    REQUIRE(!task.check(model.assignment(end)));
    ShareCosts fresh(model);
    fresh.set(end);
    for (int r = 0; r < model.ranks(); ++r) {
      for (int n = 0; n < model.nodes(); ++n) CHECK(costs.row(r)[n] == near(fresh.row(r)[n], 1e-3));
    }
  }
}

TEST_CASE("rows of any length are searched whole") {
  for (std::size_t n = 1; n < 70; ++n) {
    std::vector<float> row(n, 3);
    const std::vector<float> ones(n, 1);
    row[n - 1] = 2;
    row[n / 2] = 1;
    CHECK(least_of(row.data(), n) == 1);
    CHECK(count_below(row.data(), n, 1, ones.data(), 2.5F, 9) == 1);
    CHECK(count_below(row.data(), n, 1, ones.data(), 3.5F, 9) == (n / 2 == n - 1 ? 1 : 2));
    CHECK(count_below(row.data(), n, 1, ones.data(), 3.5F, 1) == 0);
    add_scaled(row.data(), n, 2, ones.data(), 1, ones.data());
    CHECK(row[n / 2] == 4);
  }
}

TEST_CASE("what does not fit is refused with a hint") {
  const auto refused = [](auto make, std::string_view part) {
    try {
      (void)make();
      return false;
    } catch (const InvalidArgument& e) {
      return std::string(e.what()).find(part) != std::string::npos;
    }
  };
  CHECK(refused([] { return Task(grid_traffic(3, 3), tree(2, 4)); }, "hint"));
  CHECK(refused([] { return Task(grid_traffic(3, 3), tree(4, 4), {{}, 1, 2}); }, "at most 2 ranks a node"));
  CHECK(refused([] { return Task(grid_traffic(2, 2), tree(2, 2), {{{9, 0, -1}}, 1, 0}); }, "ranks 0 to 3"));
  CHECK(refused([] { return Task(grid_traffic(2, 2), tree(2, 2), {{{0, 2, -1}}, 1, 0}); }, "no node 2"));
  CHECK(refused([] { return Task(grid_traffic(2, 2), tree(2, 2), {{{0, 0, 1}, {1, 0, 1}}, 1, 0}); }, "not free"));
  CHECK(refused([] { return Task(grid_traffic(2, 2), tree(2, 2), {{{0, 0, -1}, {1, 0, -1}, {2, 0, -1}}, 1, 0}); },
                "only 2"));
  CHECK(refused([] { return Task(grid_traffic(2, 2), tree(2, 2), {{{0, 0, -1}, {0, 1, -1}}, 1, 0}); }, "twice"));
}

TEST_CASE("machines are read from plain documents") {
  const Machine m = Machine::parse(
      R"({"switches": [{"name": "s", "latency_s": 1e-5, "bytes_per_s": 1e8, "across": {"latency_s": 2e-5}},
      {"name": "t", "parent": "s", "uplink_bytes_per_s": 5e7}],
       "levels": [{"width": 2, "latency_s": 1e-7}, {"latency_s": 1e-6}],
      "nodes": [{"name": "a", "count": 2, "cores": 4, "switch": "s"},
                 {"cores": 6, "switch": "t", "port_bytes_per_s": 1e8}]})");
  CHECK(m.node_count() == 3);
  CHECK(m.cores() == 14);
  CHECK(m.nodes[1].name == "a1");
  CHECK(m.node_distance(0, 1).latency_s == 1e-5);
  CHECK(m.node_distance(0, 2).latency_s == 2e-5);
  CHECK(m.hops(0, 2) == 3);
  CHECK(m.kinds[1].distance(2, 3).latency_s == 1e-7);
  CHECK(m.kinds[1].distance(1, 5).latency_s == 1e-6);
  const Machine cores = Machine::parse(
      R"({"cores_per_node": 1, "between_cores": {"latency_s": [[0, 1], [2, 0]],
                                               "bytes_per_s": [[null, 10], [0, 0]]}})");
  const Task task(grid_traffic(1, 2), cores);
  CHECK(task.distance(0, 1) == Distance{1, 0.1});
  CHECK(task.distance(1, 0) == Distance{2, 0});
  for (const char* bad : {"[]", "{}", R"({"nodes": 0})", R"({"nodes": 2, "cors": 1})",
                          R"({"nodes": 1048576, "cores_per_node": 16777216})", R"({"nodes": [{"switch": "x"}]})",
                          R"({"nodes": 2, "torus": {"dims": [3]}})",
                          R"({"nodes": 2, "between_nodes": {"latency_s": [[0]], "bytes_per_s": [[0]]}})"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(Machine::parse(bad), FormatError);
  }
}
