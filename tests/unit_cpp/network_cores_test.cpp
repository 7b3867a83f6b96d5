// SPDX-License-Identifier: Apache-2.0
// Checks how many cores the ranks of a node may use: affinity, and nodes on one machine.
#include <doctest/doctest.h>
#include <sched.h>

#include "network/agree.hpp"

namespace network = antiphon::network;
using network::Cores;

TEST_CASE("a process may use the cores of its affinity") {
  cpu_set_t allowed;
  REQUIRE(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  const Cores own = Cores::of_this_process();
  CHECK(own.count() == CPU_COUNT(&allowed));
  CHECK(Cores::parse(own.text()).count() == own.count());
}

TEST_CASE("a set of cores survives its text, and damaged texts are some set") {
  for (const int count : {0, 1, 63, 64, 65, 200}) {
    CAPTURE(count);
    CHECK(Cores(count).count() == count);
    CHECK(Cores::parse(Cores(count).text()).count() == count);
  }
  CHECK(Cores(-1).count() == 0);
  CHECK(Cores::parse("x,3,,").count() == 2);
  CHECK(Cores::parse("ff").count() == 0);
}

TEST_CASE("bound ranks together have the cores that each of them has") {
  Cores node = Cores::parse("1,");
  node.add(Cores::parse("0,8,"));
  node.add(Cores::parse("1,"));
  CHECK(node.count() == 2);
}

namespace {

/// Lets nodes agree. A node is the machine it is on, its number of ranks and the cores of each.
struct CrowdedNode {
  const char* boot_id;
  int ranks;
  Cores cores;
};

network::Network of(const std::vector<CrowdedNode>& nodes) {
  std::vector<network::Sighting> sightings;
  std::vector<int> node_of_rank;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    for (int r = 0; r < nodes[n].ranks; ++r) {
      network::Sighting& sighting = sightings.emplace_back();
      sighting.machine = {nodes[n].boot_id, nodes[n].cores};
      node_of_rank.push_back(static_cast<int>(n));
    }
  }
  return network::agree(sightings, node_of_rank);
}

}  // namespace

TEST_CASE("ranks and cores are those of one machine, where most ranks share a core") {
  // Every node has a core for each rank, though the smallest one has fewer than the fullest one has ranks.
  const network::Network roomy = of({{"a", 64, Cores(64)}, {"b", 48, Cores(48)}});
  CHECK(roomy.ranks_on_cores == roomy.cores_per_node);
  const network::Network uneven = of({{"a", 1, Cores(8)}, {"b", 15, Cores(8)}});
  CHECK(uneven.ranks_on_cores == 15);
  CHECK(uneven.cores_per_node == 8);
  // Containers of 1 and 15 ranks on one machine.
  const network::Network shared = of({{"a", 1, Cores(16)}, {"a", 15, Cores(16)}});
  CHECK(shared.ranks_on_cores == 16);
  CHECK(shared.cores_per_node == 16);
  CHECK(shared.nodes_sharing == 2);
  // One container is bound to two cores, and the other one is not.
  const network::Network bound = of({{"a", 4, Cores(2)}, {"a", 1, Cores(8)}});
  CHECK(bound.ranks_on_cores == 4);
  CHECK(bound.cores_per_node == 2);
  CHECK(bound.nodes_sharing == 1);
  CHECK(of({{"a", 2, Cores()}, {"b", 2, Cores()}}).cores_per_node == 0);
}
