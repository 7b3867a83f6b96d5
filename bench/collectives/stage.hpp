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

/// The first ranks of the world, on which cells of that many ranks are measured. The other ranks wait without using
/// processors. All ranks of the world must make it together.
class Stage {
 public:
  Stage(MPI_Comm world, int ranks);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  /// Tells whether this rank takes part.
  [[nodiscard]] bool member() const { return comm_ != MPI_COMM_NULL; }
  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  /// For what is not measured; used only with PMPI calls, so it is always the library's own.
  [[nodiscard]] MPI_Comm library() const { return library_; }
  [[nodiscard]] Stopwatch& stopwatch() { return *stopwatch_; }
  [[nodiscard]] int ranks() const { return ranks_; }

  /// Begins a cell with new communicators, so that no size before it decides how its calls are done.
  void begin_cell() { free_slots(); }
  /// Returns a contender's communicator and algorithm. `slot` is the contender's index in its cell.
  Way way_of(const Contender& contender, std::size_t slot);
  /// Ends a cell: ranks that do not take part wait here for the others.
  void meet(MPI_Comm world) const;

 private:
  MPI_Comm duplicate();
  void free_slots();
  int ranks_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Comm library_ = MPI_COMM_NULL;
  std::unique_ptr<Stopwatch> stopwatch_;
  std::vector<MPI_Comm> slots_;
  std::map<std::string, MPI_Comm> forced_;  ///< communicators that remember one of the library's algorithms
};

}  // namespace bench
