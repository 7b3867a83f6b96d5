// SPDX-License-Identifier: Apache-2.0
// All ranks' findings about their node's network become one answer for the whole job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "json/json.hpp"
#include "network/connections.hpp"
#include "network/hardware.hpp"
#include "network/told.hpp"

namespace antiphon::network {

/// An interface with the connections of one rank that use it.
struct Link {
  Interface interface;
  std::vector<std::uint64_t> keys;
};

/// What one rank sees.
struct Sighting {
  std::vector<Link> links;
  std::vector<Device> devices;
  Told told;
  std::string host;  ///< name of its node
  Machine machine;
};

Json to_json(const Sighting& sighting);
Sighting sighting_from_json(const Json& json);

/// What a measurement of the links took.
struct Measuring {
  int pairs = 0;  ///< of nodes
  int rounds = 0;
  std::int64_t bytes = 0;     ///< between two nodes
  std::int64_t messages = 0;  ///< the same
  double seconds = 0;
};

/// How the library's messages travel between the nodes of a job.
struct Network {
  /// "tcp", "other", "shared memory" (one node), or empty: unclear.
  std::string transport;
  std::string name;       ///< for people: "TCP", "InfiniBand", "shared memory", "unknown transport"
  std::string component;  ///< parts of the library, as "ob1/tcp"; empty if they are not known
  std::string interface;  ///< "eth0", "mlx5_0"; all that are used, with commas
  std::int64_t bits_per_s = 0;
  std::int64_t connection_bits_per_s = 0;  ///< of one connection, where it does not fill the link; 0: it does
  std::string transport_source, interface_source, rate_source;
  bool rate_is_claimed = false;  ///< by a hypervisor
  Measuring measuring;           ///< empty: the links were not measured
  std::string between_nodes;     ///< one node: what the settings say about messages to others
  int cores_per_node = 0;        ///< that ranks may use on the machine with the fewest for each of them; 0: unknown
  int nodes_sharing = 1;         ///< so many nodes (containers, namespaces) are on that machine and share its cores
  int ranks_on_cores = 0;        ///< so many ranks use them; 0: unknown
  double turn_s = 0;             ///< how long a rank that waits holds such a core; 0: unknown, or nodes do not share
  /// The first rank on each rank's machine, where some nodes share a machine and others do not; else empty.
  std::vector<int> machine_of_rank;

  /// Notes what was found out of the link and of one connection, which fills the link where it carries as much.
  void set_rates(std::int64_t link, std::int64_t connection, std::string source);
  /// Returns one line: transport, interface and rate, each with its source.
  [[nodiscard]] std::string line() const;
};

/// Returns "100 Mbit/s"; 0 is "unknown rate".
std::string rate_text(std::int64_t bits_per_s);

Json to_json(const Network& network);
Network network_from_json(const Json& json);

/// Returns what holds for all ranks. Where they differ it is the slowest interface, and where that leaves more than one
/// reading the transport is unclear. `node_of_rank` has a number for each sighting.
Network agree(const std::vector<Sighting>& sightings, const std::vector<int>& node_of_rank);

/// Returns the network of a job whose ranks are all on one node.
Network on_one_node(const Told& told, int cores = 0, int ranks = 1);

}  // namespace antiphon::network
