// SPDX-License-Identifier: Apache-2.0
#include "job/host_names.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "job/world.hpp"

namespace antiphon::mpi {

namespace {

constexpr int name_bytes = 256;

std::string own_name() {
  std::array<char, name_bytes> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace

const GivenPlace* own_given_place() {
  if (world.given_places.empty()) return nullptr;
  int world_rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  return &world.given_places[static_cast<std::size_t>(world_rank)];
}

std::vector<std::string> gather_host_names(MPI_Comm comm) {
  int rank = 0;
  int size = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  const GivenPlace* const given = own_given_place();
  std::string name = given == nullptr ? own_name() : given->node;
  name.resize(name_bytes);
  std::string all(rank == 0 ? static_cast<std::size_t>(size) * name_bytes : 0, '\0');
  PMPI_Gather(name.data(), name_bytes, MPI_CHAR, all.data(), name_bytes, MPI_CHAR, 0, comm);
  std::vector<std::string> names;
  for (std::size_t at = 0; at < all.size(); at += name_bytes) names.emplace_back(all.data() + at);
  return names;
}

std::vector<GivenPlace> parse_places(const std::string& text) {
  std::vector<GivenPlace> places;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    const std::size_t star = item.find('*');
    const long times = star == std::string::npos ? 1 : std::strtol(item.c_str() + star + 1, nullptr, 10);
    const std::string where = item.substr(0, star);
    const std::size_t slash = where.find('/');
    GivenPlace place{where.substr(0, slash)};
    if (slash != std::string::npos) {
      const char* const last = where.data() + where.size();
      const auto [stop, error] = std::from_chars(where.data() + slash + 1, last, place.socket);
      if (error != std::errc{} || stop != last || place.socket < 0) return {};
    }
    if (place.node.empty() || place.node.size() >= name_bytes || times < 1 || times > 1 << 20) return {};
    places.insert(places.end(), static_cast<std::size_t>(times), place);
    begin = end + 1;
  }
  return places;
}

}  // namespace antiphon::mpi
