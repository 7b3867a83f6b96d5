// SPDX-License-Identifier: Apache-2.0
#include "job/host_names.hpp"

#include "job/node_name.hpp"
#include "job/world.hpp"

namespace antiphon::mpi {

namespace {

constexpr int name_bytes = static_cast<int>(AssumedLocation::most_name_bytes);

}  // namespace

std::vector<std::string> gather_host_names(MPI_Comm comm) {
  int rank = 0;
  int size = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  const AssumedLocation* const assumed = own_assumed_location();
  std::string name = assumed == nullptr ? host_name() : assumed->node;
  name.resize(name_bytes);
  std::string all(rank == 0 ? static_cast<std::size_t>(size) * name_bytes : 0, '\0');
  PMPI_Gather(name.data(), name_bytes, MPI_CHAR, all.data(), name_bytes, MPI_CHAR, 0, comm);
  std::vector<std::string> names;
  for (std::size_t at = 0; at < all.size(); at += name_bytes) names.emplace_back(all.data() + at);
  return names;
}

}  // namespace antiphon::mpi
