// SPDX-License-Identifier: Apache-2.0
// A neighbourhood collective becomes an alltoallw of all ranks, in which most blocks are empty.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "call/call.hpp"

namespace antiphon::mpi {

/// Lists a rank's neighbours in the order of its blocks, with MPI_PROC_NULL where a Cartesian grid has none.
struct NeighbourLists {
  std::vector<int> sources, destinations;
  bool known = false;  ///< whether the communicator has a topology
};
NeighbourLists neighbours_of(MPI_Comm comm);

/// What is so on all ranks of a communicator with a topology.
struct NeighbourFacts {
  bool distinct = false;  ///< no rank has a neighbour twice
  int most_sources = 0;   ///< from so many others a rank receives, at most
};

/// Holds the neighbours of a communicator and the arrays of calls on them.
class Neighbours {
 public:
  explicit Neighbours(MPI_Comm comm);

  /// Tells whether this rank's blocks can be told apart by their rank, which means that no neighbour comes twice.
  /// Without a topology it is false on all ranks.
  [[nodiscard]] bool distinct() const { return distinct_; }
  /// Returns this rank's part of what is so on all.
  [[nodiscard]] NeighbourFacts here() const;
  /// Returns what is so on all ranks, if the topology says it: every rank knows a whole grid or graph, but only its own
  /// part of a distributed graph.
  [[nodiscard]] std::optional<NeighbourFacts> everywhere() const;
  /// Returns the call with arrays by rank, in bytes; the result is valid until the next call. Returns null if a
  /// datatype is invalid or a neighbour comes twice.
  const Call* spread(const Call& call, int size);

 private:
  struct Side {
    std::vector<long> counts, displs;
    std::vector<MPI_Datatype> types;
  };

  static void resize(Side& side, int size);
  bool fill(Side& side, const std::vector<int>& ranks, const Call& call, bool sends);

  MPI_Comm comm_;
  NeighbourLists lists_;
  bool distinct_ = false;
  Side send_, recv_;
  std::unique_ptr<Call> spread_;
};

/// Computes the bytes that a neighbour collective or alltoallw moves to and from each rank of an intracommunicator.
/// Returns false if a datatype is invalid.
bool bytes_by_rank(const Call& call, std::vector<std::int64_t>& to, std::vector<std::int64_t>& from);

}  // namespace antiphon::mpi
