// SPDX-License-Identifier: Apache-2.0
#include "host_names.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "world.hpp"

namespace antiphon::mpi {

namespace {

constexpr int name_bytes = 256;

std::string own_name() {
  std::array<char, name_bytes> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace

std::vector<std::string> gather_host_names(MPI_Comm comm) {
  int rank = 0;
  int size = 0;
  int world_rank = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  std::string name = world.given_nodes.empty() ? own_name() : world.given_nodes[static_cast<std::size_t>(world_rank)];
  name.resize(name_bytes);
  std::string all(rank == 0 ? static_cast<std::size_t>(size) * name_bytes : 0, '\0');
  PMPI_Gather(name.data(), name_bytes, MPI_CHAR, all.data(), name_bytes, MPI_CHAR, 0, comm);
  std::vector<std::string> names;
  for (std::size_t at = 0; at < all.size(); at += name_bytes) names.emplace_back(all.data() + at);
  return names;
}

std::vector<std::string> parse_nodes(const std::string& text) {
  std::vector<std::string> nodes;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    const std::size_t star = item.find('*');
    const long times = star == std::string::npos ? 1 : std::strtol(item.c_str() + star + 1, nullptr, 10);
    const std::string name = item.substr(0, star);
    if (name.empty() || name.size() >= name_bytes || times < 1 || times > 1 << 20) return {};
    nodes.insert(nodes.end(), static_cast<std::size_t>(times), name);
    begin = end + 1;
  }
  return nodes;
}

}  // namespace antiphon::mpi
