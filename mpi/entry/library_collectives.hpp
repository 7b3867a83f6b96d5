// SPDX-License-Identifier: Apache-2.0
// Inside a call of the program, ranks tell each other a few numbers by collectives of the library.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>

namespace antiphon::mpi {

/// The library's collectives on one communicator. All functions return MPI error codes.
class LibraryCollectives {
 public:
  /// `waits_here`: operations may be under way that other ranks wait for and that do not advance inside the library, so
  /// the wait is in our own loop. It is the same on all ranks, as blocking collectives do not match nonblocking ones.
  LibraryCollectives(MPI_Comm comm, bool waits_here) : comm_(comm), waits_here_(waits_here) {}

  /// Puts the greatest value of all ranks into each number.
  [[nodiscard]] int greatest(std::span<int> numbers) const;
  /// Puts the root's numbers into those of all ranks.
  [[nodiscard]] int tell(std::span<std::int64_t> numbers, int root) const;
  /// Puts the numbers of all ranks, which have equally many, one after the other into `all`.
  [[nodiscard]] int gather(std::span<const std::int64_t> numbers, std::int64_t* all) const;

 private:
  MPI_Comm comm_;
  bool waits_here_;
};

}  // namespace antiphon::mpi
