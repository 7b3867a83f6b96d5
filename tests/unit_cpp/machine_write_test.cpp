// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "mapping/json.hpp"
#include "near.hpp"

using namespace antiphon;
using namespace antiphon::mapping;

namespace {

const char* const two_racks = R"({"name": "two racks",
  "switches": [{"name": "spine", "latency_s": 2e-5, "bytes_per_s": 2e8},
               {"name": "leaf 0", "parent": "spine", "uplink_bytes_per_s": 2e9, "latency_s": 1e-5,
                 "across": {"latency_s": 3e-5}},
               {"name": "leaf 1", "parent": "spine", "latency_s": 1e-5, "bytes_per_s": 6e8}],
  "nodes": [{"name": "a", "switch": "leaf 0", "count": 2, "cores": 4, "port_bytes_per_s": 1e9},
            {"name": "b", "switch": "leaf 1", "cores": 2,
              "between_cores": {"latency_s": [[0, 1e-7], [2e-7, 0]], "bytes_per_s": [[0, 1e9], [null, 0]]}}],
  "levels": [{"width": 2, "latency_s": 1e-7, "bytes_per_s": 8e9},
              {"width": 4, "latency_s": 5e-7, "bytes_per_s": 5e9}]})";

/// Rates are written as such and kept as their inverse, so they are equal except for rounding.
void check_same(const Distance& a, const Distance& b) {
  CHECK(a.latency_s == b.latency_s);
  CHECK(a.seconds_per_byte == near(b.seconds_per_byte, 1e-12));
}

}  // namespace

TEST_CASE("a machine that is written is read as it was") {
  const Machine m = Machine::parse(two_racks);
  const Machine again = Machine::parse(json_of(m).dump());
  REQUIRE(again.nodes.size() == 3);
  REQUIRE(again.switches.size() == 3);
  for (std::size_t n = 0; n < 3; ++n) {
    CHECK(again.nodes[n].name == m.nodes[n].name);
    CHECK(again.nodes[n].switch_index == m.nodes[n].switch_index);
    CHECK(again.nodes[n].port_bytes_per_s == m.nodes[n].port_bytes_per_s);
    CHECK(again.cores(static_cast<int>(n)) == m.cores(static_cast<int>(n)));
    for (std::size_t other = 0; other < 3; ++other) {
      if (n != other)
        check_same(again.node_distance(static_cast<int>(n), static_cast<int>(other)),
                   m.node_distance(static_cast<int>(n), static_cast<int>(other)));
    }
    const NodeKind& kind = m.kinds[static_cast<std::size_t>(m.nodes[n].kind)];
    const NodeKind& kind_again = again.kinds[static_cast<std::size_t>(again.nodes[n].kind)];
    for (int c = 0; c < kind.cores; ++c) {
      for (int d = 0; d < kind.cores; ++d) {
        if (c != d) check_same(kind_again.distance(c, d), kind.distance(c, d));
      }
    }
  }
  for (std::size_t s = 0; s < 3; ++s) CHECK(again.switches[s].uplink_bytes_per_s == m.switches[s].uplink_bytes_per_s);
}

TEST_CASE("matrices and a torus are written, too") {
  const Machine m = Machine::parse(
      R"({"nodes": 4, "cores_per_node": 2, "latency_s": 1e-6, "torus": {"dims": [2, 2], "link_bytes_per_s": 1e9},
    "between_nodes": {"latency_s": [[0,1,2,3],[4,0,5,6],[7,8,0,9],[1,2,3,0]],
                       "bytes_per_s": [[0,1,1,1],[1,0,1,1],[1,1,0,1],[1,1,1,0]]}})");
  const Machine again = Machine::parse(json_of(m).dump());
  REQUIRE(again.torus);
  CHECK(again.torus->dims == m.torus->dims);
  CHECK(again.torus->link_bytes_per_s == 1e9);
  CHECK(again.node_distance(2, 3).latency_s == 9);
  CHECK(again.node_distance(3, 2).latency_s == 3);
}

TEST_CASE("machine: a profile's nodes have their physical cores, however few CPUs the probe's ranks were bound to") {
  Profile profile = Profile::guess(2, 1, 1e9);
  const auto cores_of = [&](int bound_to, int physical) {
    profile.processors.cores_per_node = bound_to;
    profile.processors.physical_cores = physical;
    return Machine::of_profile(profile, 0, 0).kinds.front().cores;
  };
  CHECK(cores_of(1, 64) == 64);
  CHECK(cores_of(128, 64) == 64);
  CHECK(cores_of(4, 0) == 4);
  profile.machine.ranks_per_node = 8;
  CHECK(cores_of(4, 4) == 8);
  CHECK(Machine::of_profile(profile, 3, 0).kinds.front().cores == 3);
}

TEST_CASE("machine: a profile's sockets are a level of its nodes where they divide the cores") {
  Profile profile = Profile::guess(2, 4, 1e9);
  const LinkClass between_nodes = profile.link_classes.front();
  for (const auto& [scope, latency_s] : {std::pair{Scope::node, 6e-7}, std::pair{Scope::socket, 2e-7}}) {
    LinkClass nearer = between_nodes;
    nearer.scope = scope;
    nearer.latency_s = latency_s;
    profile.link_classes.insert(profile.link_classes.begin(), nearer);
  }
  const auto levels_of = [&](int sockets) {
    profile.processors.sockets_per_node = sockets;
    return Machine::of_profile(profile, 0, 0).kinds.front().levels;
  };
  const std::vector<Level> two = levels_of(2);
  REQUIRE(two.size() == 2);
  CHECK(two[0].width == 2);
  CHECK(two[0].distance.latency_s < two[1].distance.latency_s);
  CHECK(two[1].width == 4);
  CHECK(levels_of(3).size() == 1);
  CHECK(levels_of(4).size() == 1);
  CHECK(levels_of(0).size() == 1);
}
