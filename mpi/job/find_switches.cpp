// SPDX-License-Identifier: Apache-2.0
#include "job/find_switches.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "antiphon/error.hpp"
#include "antiphon/index.hpp"
#include "antiphon/places.hpp"
#include "antiphon/text.hpp"
#include "job/node_name.hpp"
#include "job/shared_text.hpp"
#include "job/warn.hpp"
#include "network/switches.hpp"

namespace antiphon::mpi {

namespace {

constexpr const char* slurm_variable = "SLURM_TOPOLOGY_ADDR";

/// The job's nodes, in the order of their lowest ranks.
struct Nodes {
  std::vector<std::string> names;
  std::vector<std::string> addresses;  ///< as Slurm has them; empty without
};

std::string lines_of(const std::vector<std::string>& by_rank, const std::vector<int>& node_of_rank) {
  std::string text;
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    if (node_of_rank[rank] == static_cast<int>(rank)) text += by_rank[rank] + '\n';
  }
  return text;
}

bool is_told(const Settings& s) { return s.topology != "on"; }

/// Collective: all ranks learn all nodes' names.
Nodes gather_nodes(const std::vector<int>& node_of_rank, const std::string& assumed_name, bool slurm) {
  Nodes nodes;
  const std::string name = assumed_name.empty() ? host_name() : assumed_name;
  nodes.names = split(from_rank_0(lines_of(gather_texts(name), node_of_rank)), '\n');
  if (!slurm) return nodes;
  const char* const own = std::getenv(slurm_variable);
  nodes.addresses = split(from_rank_0(lines_of(gather_texts(own == nullptr ? "" : own), node_of_rank)), '\n');
  return nodes;
}

Topology measured_topology(const Settings& s) {
  try {
    if (!s.machine.empty()) return Profile::parse(s.machine).topology;
  } catch (const Error&) {
    // The profile has decisions only.
  }
  return {};
}

struct Found {
  Topology topology;
  std::string source;
};

std::optional<Found> look_up(const Settings& s, const Nodes& nodes, const Topology& measured) {
  const auto found = [](const std::optional<Topology>& topology, const std::string& source) {
    return topology ? std::optional(Found{*topology, source}) : std::nullopt;
  };
  if (is_told(s)) {
    const auto addresses = network::addresses_of_text(s.topology, nodes.names);
    if (!addresses.empty()) return found(network::topology_of_addresses(addresses), "ANTIPHON_TOPOLOGY");
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
      warn("ANTIPHON_TOPOLOGY=" + s.topology +
           " does not name the switch of each node (hint: switch=node01,node02;other=node03,node04); ignored");
  }
  if (measured.switches.size() > 1) {
    if (auto named = network::topology_of_names(measured, nodes.names))
      return Found{*named, "the profile " + s.profile_path};
  }
  return found(network::topology_of_addresses(nodes.addresses), slurm_variable);
}

/// Numbers the nodes along the tree.
Switches along_tree(const Found& found, const std::vector<int>& node_of_rank) {
  std::vector<int> nodes(found.topology.nodes.size());
  std::iota(nodes.begin(), nodes.end(), 0);
  const std::vector<int> order = places_along(nodes, found.topology, std::nullopt).order;
  Switches switches{{found.topology.switches, {}}, {}, found.source};
  std::vector<int> place(nodes.size());
  for (const int node : order.empty() ? nodes : order) {
    place[at(node)] = static_cast<int>(switches.topology.nodes.size());
    switches.topology.nodes.push_back(found.topology.nodes[at(node)]);
  }
  std::map<int, int> numbered;  // by lowest rank
  for (const int lowest : node_of_rank) numbered.emplace(lowest, 0);
  int next = 0;
  for (auto& [lowest, number] : numbered) number = place[at(next++)];
  for (const int lowest : node_of_rank) switches.node_of_rank.push_back(numbered.at(lowest));
  return switches;
}

}  // namespace

int Switches::count() const {
  std::set<int> used;
  for (const NodeEntry& node : topology.nodes) used.insert(node.switch_index);
  return static_cast<int>(used.size());
}

Switches find_switches(const Settings& s, const std::vector<int>& node_of_rank, const std::string& assumed_name) {
  const std::set<int> lowest(node_of_rank.begin(), node_of_rank.end());
  if (s.topology == "off" || lowest.size() < 2) return {};
  const Topology measured = measured_topology(s);
  if (!is_told(s) && measured.switches.size() < 2 && !s.slurm_topology) return {};
  const Nodes nodes = gather_nodes(node_of_rank, assumed_name, s.slurm_topology);
  if (nodes.names.size() != lowest.size()) return {};
  const auto found = look_up(s, nodes, measured);
  return found ? along_tree(*found, node_of_rank) : Switches{};
}

}  // namespace antiphon::mpi
