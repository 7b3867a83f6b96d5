// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "antiphon/places.hpp"
#include "antiphon/select.hpp"

namespace antiphon::mpi {

/// Holds what rules and schedules need to know of a communicator.
struct CommShape {
  int rank = 0;
  int size = 0;
  int nodes = 1;
  int max_ranks_per_node = 1;
  int max_ranks_per_switch = 0;       ///< as Question::max_ranks_per_switch
  int stride = 0;                     ///< as Question::stride
  bool blocked = true;                ///< each node's ranks are consecutive
  std::uint64_t members = 0;          ///< a hash of its ranks of MPI_COMM_WORLD in their order
  std::vector<int> node_of_rank;      ///< as World::node_of_rank
  std::vector<int> nodes_along_tree;  ///< the same by other numbers: as nodes_along_tree()
  Places along;                       ///< how ranks stand along switches and nodes, without a root

  /// Returns how ranks stand for a call with this root.
  [[nodiscard]] Places places(int root) const;
};

/// Finds the shape without communication. Returns nothing if Antiphon must not act: for an intercommunicator, a single
/// rank, or processes of other jobs.
std::optional<CommShape> shape_of(MPI_Comm comm);

/// Returns about how many of a call's blocks cross the busiest node's link.
double blocks_on_link(Collective collective, int ranks, int max_ranks_per_node);
/// Returns about how many bits of a call with blocks of so many bytes cross it.
double bits_on_link(Collective collective, int ranks, int max_ranks_per_node, std::int64_t bytes);

/// Is taken for the latency where none was measured.
inline constexpr double usual_latency_s = 50e-6;
/// Returns about what a call of a few bytes takes: that latency for each doubling of the ranks.
double shortest_call_s(int ranks);

}  // namespace antiphon::mpi
