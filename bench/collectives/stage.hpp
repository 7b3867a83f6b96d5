// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "measure.hpp"
#include "options.hpp"

namespace bench {

/// The first ranks of the world, on which cells of that many ranks are measured; the others wait without taking
/// processors from them. Made by all ranks of the world together.
class Stage {
 public:
  Stage(MPI_Comm world, int ranks);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  /// Whether this rank plays.
  [[nodiscard]] bool member() const { return comm_ != MPI_COMM_NULL; }
  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  /// For what is not measured: only PMPI calls, so always the library's own.
  [[nodiscard]] MPI_Comm library() const { return library_; }
  [[nodiscard]] Stopwatch& stopwatch() { return *stopwatch_; }
  [[nodiscard]] int ranks() const { return ranks_; }

  /// The way of a contender: communicators are kept, as real programs keep theirs. `slot`: its place among a cell's
  /// contenders.
  Way way_of(const Contender& contender, std::size_t slot);
  /// Ends a cell: whoever does not play waits here for those who do.
  void meet(MPI_Comm world) const;

 private:
  MPI_Comm duplicate();
  int ranks_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Comm library_ = MPI_COMM_NULL;
  std::unique_ptr<Stopwatch> stopwatch_;
  std::vector<MPI_Comm> slots_;
  std::map<std::string, MPI_Comm> forced_;  ///< communicators that remember one of the library's algorithms
};

}  // namespace bench
