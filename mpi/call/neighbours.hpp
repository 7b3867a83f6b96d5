// SPDX-License-Identifier: Apache-2.0
// Neighbourhood collectives as an alltoallw of all ranks: most of its blocks are empty.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "call/call.hpp"

namespace antiphon::mpi {

/// A rank's neighbours in the order of its blocks; MPI_PROC_NULL where a Cartesian grid has none.
struct NeighbourLists {
  std::vector<int> sources, destinations;
  bool known = false;  ///< the communicator has a topology
};
NeighbourLists neighbours_of(MPI_Comm comm);

/// The neighbours of a communicator, and the arrays of calls on them.
class Neighbours {
 public:
  explicit Neighbours(MPI_Comm comm);

  /// Whether this rank's blocks can be told apart by their rank: no neighbour twice. Without a topology: false on all
  /// ranks.
  [[nodiscard]] bool distinct() const { return distinct_; }
  /// The call with arrays by rank, in bytes; valid until the next one. Null if a type is none, or a neighbour comes
  /// twice.
  const Call* spread(const Call& call, int size);

 private:
  struct Side {
    std::vector<long> counts, displs;
    std::vector<MPI_Datatype> types;
  };

  static void resize(Side& side, int size);
  bool fill(Side& side, const std::vector<int>& ranks, const Call& call, bool sends);

  NeighbourLists lists_;
  bool distinct_ = false;
  Side send_, recv_;
  std::unique_ptr<Call> spread_;
};

/// Bytes that a neighbour collective or alltoallw moves to and from each rank of an intracommunicator; false if a type
/// is none.
bool bytes_by_rank(const Call& call, std::vector<std::int64_t>& to, std::vector<std::int64_t>& from);

}  // namespace antiphon::mpi
