// SPDX-License-Identifier: Apache-2.0
#include "job/find_network.hpp"

#include <mpi.h>
#include <sched.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "job/clock.hpp"
#include "job/environment.hpp"
#include "job/library_traits.hpp"
#include "job/library_variables.hpp"
#include "job/node_name.hpp"
#include "job/shared_text.hpp"

namespace antiphon::mpi {

namespace {

using network::Network;
using network::Sighting;

network::Told told() {
  const LibraryVariables variables;
  return network::read_told(library_version(), [&](const std::string& name) -> std::optional<std::string> {
    if (const auto text = variables.text(name.c_str()); text && !text->empty()) return text;
    const char* const value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
}

/// Returns the processor time that a look for messages in vain takes, and giving the core away after it: so long a rank
/// that waits keeps others from a core that they share.
double time_of_look_s() {
  constexpr int looks = 16;
  const std::int64_t began_ns = processor_ns();
  for (int i = 0; i < looks; ++i) {
    int found = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
    sched_yield();
  }
  return 1e-9 * static_cast<double>(processor_ns() - began_ns) / looks;
}

Sighting look() {
  const std::string root = variable("ANTIPHON_SYSTEM_ROOT");
  Sighting s{.devices = network::open_devices(root, "/proc/self/fd"),
             .told = told(),
             .host = host_name(),
             .machine = network::read_machine(root)};
  s.machine.look_s = time_of_look_s();
  const bool virtual_machine = network::is_virtual_machine(root);
  for (auto& [interface, keys] : network::leaving(network::open_connections(), network::own_addresses()))
    s.links.push_back({network::read_interface(root, interface, virtual_machine), std::move(keys)});
  return s;
}

}  // namespace

Network network_of_one_node(int cores, int ranks) { return network::on_one_node(told(), cores, ranks); }

Seen look_at_nodes(const std::vector<int>& node_of_rank) {
  const std::vector<std::string> texts = gather_texts(to_json(look()).dump());
  if (texts.empty()) return {};
  Seen seen;
  std::vector<Sighting> sightings;
  for (const std::string& text : texts) {
    sightings.push_back(network::sighting_from_json(Json::parse(text)));
    seen.hosts.push_back(sightings.back().host);
  }
  seen.network = network::agree(sightings, node_of_rank);
  return seen;
}

}  // namespace antiphon::mpi
