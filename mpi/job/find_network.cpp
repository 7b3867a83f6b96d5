// SPDX-License-Identifier: Apache-2.0
#include "job/find_network.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>

#include "job/library_traits.hpp"
#include "job/library_variables.hpp"

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

/// Returns the texts of all ranks on rank 0, and none on the others.
std::vector<std::string> gather_texts(const std::string& own) {
  int rank = 0;
  int size = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  const auto ranks = static_cast<std::size_t>(rank == 0 ? size : 0);
  const int length = static_cast<int>(own.size());
  std::vector<int> lengths(ranks);
  PMPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::vector<int> offsets(ranks + 1);
  std::partial_sum(lengths.begin(), lengths.end(), offsets.begin() + 1);
  std::string all(static_cast<std::size_t>(offsets.back()), '\0');
  PMPI_Gatherv(own.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets.data(), MPI_CHAR, 0, MPI_COMM_WORLD);
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < ranks; ++r)
    texts.push_back(all.substr(static_cast<std::size_t>(offsets[r]), static_cast<std::size_t>(lengths[r])));
  return texts;
}

/// Returns rank 0's text on every rank.
std::string from_rank_0(std::string text) {
  auto length = static_cast<long long>(text.size());
  PMPI_Bcast(&length, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
  text.resize(static_cast<std::size_t>(length));
  PMPI_Bcast(text.data(), static_cast<int>(length), MPI_CHAR, 0, MPI_COMM_WORLD);
  return text;
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

Network find_network(const Settings& settings, const std::vector<int>& node_of_rank) {
  const bool one_node = std::all_of(node_of_rank.begin(), node_of_rank.end(), [](int node) { return node == 0; });
  Network found = one_node ? network::on_one_node(told()) : agree_between_nodes(node_of_rank);
  if (settings.link_bits_per_s != 0) {
    found.bits_per_s = settings.link_bits_per_s;
    found.rate_source = "ANTIPHON_LINK_BITS_PER_S";
  }
  return found;
}

}  // namespace antiphon::mpi
