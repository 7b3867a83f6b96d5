// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <cstdio>
#include <limits>

#include "antiphon/text.hpp"
#include "library.hpp"
#include "workload.hpp"

namespace bench {

namespace {

constexpr double bytes_per_gib = 1 << 30;

/// Bytes that this node's programs may still take, as the kernel says; all there are where it does not.
double available_bytes() {
  for (const std::string& line : antiphon::lines_of_file("/proc/meminfo")) {
    const std::vector<std::string> words = antiphon::words_of(line);
    if (words.size() > 1 && words[0] == "MemAvailable:") return 1024 * std::stod(words[1]);
  }
  return std::numeric_limits<double>::max();
}

}  // namespace

std::string why_too_large(const Call& call, MPI_Comm comm, const std::vector<int>& node_of_rank) {
  int rank = 0, size = 1;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  const int here = node_of_rank[static_cast<std::size_t>(rank)];
  double needed = 0;
  for (int other = 0; other < size; ++other) {
    if (node_of_rank[static_cast<std::size_t>(other)] == here)
      needed += static_cast<double>(buffer_bytes(call.collective, call.bytes, other, size, call.root));
  }
  double most = needed > available_bytes() / 2 ? needed : 0;
  LIBRARY(PMPI_Allreduce)(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, comm);
  if (most == 0) return {};
  char text[64];
  std::snprintf(text, sizeof text, "its buffers need %.3g GiB of a node", most / bytes_per_gib);
  return text;
}

}  // namespace bench
