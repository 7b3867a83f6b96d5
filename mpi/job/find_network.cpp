// SPDX-License-Identifier: Apache-2.0
#include "job/find_network.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "job/library_traits.hpp"
#include "job/library_variables.hpp"
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

Sighting look() {
  const char* const directory = std::getenv("ANTIPHON_SYSTEM_ROOT");
  const std::string root = directory == nullptr ? "" : directory;
  Sighting s{.devices = network::open_devices(root, "/proc/self/fd"), .told = told()};
  for (auto& [interface, keys] : network::leaving(network::open_connections(), network::own_addresses()))
    s.links.push_back({network::read_interface(root, interface), std::move(keys)});
  return s;
}

Network agree_between_nodes(const std::vector<int>& node_of_rank) {
  const std::vector<std::string> texts = gather_texts(to_json(look()).dump());
  std::string answer;
  if (!texts.empty()) {
    std::vector<Sighting> sightings;
    for (const std::string& text : texts) sightings.push_back(network::sighting_from_json(Json::parse(text)));
    answer = to_json(network::agree(sightings, node_of_rank)).dump();
  }
  return network::network_from_json(Json::parse(from_rank_0(std::move(answer))));
}

}  // namespace

Network find_network(const std::vector<int>& node_of_rank) {
  const bool one_node = std::all_of(node_of_rank.begin(), node_of_rank.end(), [](int node) { return node == 0; });
  return one_node ? network::on_one_node(told()) : agree_between_nodes(node_of_rank);
}

}  // namespace antiphon::mpi
