// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// What would be measured: a collective with blocks of so many bytes, and its root.
struct Call {
  std::string_view collective;
  std::int64_t bytes = 0;
  int root = 0;
};

/// Says why a node's memory cannot hold the buffers of all its ranks; empty if all nodes' can. Half of what is
/// available stays free, for what libraries copy. All ranks of `comm`, whose nodes are the first of `node_of_rank`, get
/// the same.
std::string why_too_large(const Call& call, MPI_Comm comm, const std::vector<int>& node_of_rank);

}  // namespace bench
