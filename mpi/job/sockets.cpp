// SPDX-License-Identifier: Apache-2.0
#include "job/sockets.hpp"

#include <sched.h>

#include <string>

#include "antiphon/text.hpp"
#include "job/world.hpp"

namespace antiphon::mpi {

namespace {

constexpr int none = -1;

int socket_of_processor(int processor) {
  std::string path = "/sys/devices/system/cpu/cpu";
  path += std::to_string(processor);
  path += "/topology/physical_package_id";
  return static_cast<int>(number_in(path).value_or(none));
}

int own_socket() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return none;
  int socket = none;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &allowed)) continue;
    const int found = socket_of_processor(processor);
    if (found == none || (socket != none && found != socket)) return none;
    socket = found;
  }
  return socket;
}

}  // namespace

std::vector<int> gather_sockets(MPI_Comm comm) {
  int rank = 0;
  int size = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  const AssumedLocation* const assumed = own_assumed_location();
  const int own = assumed == nullptr ? own_socket() : assumed->socket.value_or(none);
  std::vector<int> all(rank == 0 ? static_cast<std::size_t>(size) : 0);
  PMPI_Gather(&own, 1, MPI_INT, all.data(), 1, MPI_INT, 0, comm);
  return all;
}

}  // namespace antiphon::mpi
