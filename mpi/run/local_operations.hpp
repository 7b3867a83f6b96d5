// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "antiphon/progress.hpp"
#include "antiphon/schedule.hpp"
#include "run/coding.hpp"
#include "run/runner.hpp"

namespace antiphon::mpi {

/// Performs the operations of a schedule that need no other rank: copy, reduce, encode, decode.
class LocalOperations {
 public:
  LocalOperations(const Schedule& schedule, MPI_Comm comm, int rank, const CodingTerms& coding);

  /// Returns an MPI error code.
  int run(const Op& op, const Progress::Piece& piece, const Binding& binding);

 private:
  int decode(const Op& op, std::span<std::byte> to, const std::byte* slot) const;
  int copy(const std::byte* from, std::byte* to, std::int64_t bytes, const Binding& binding) const;

  const Schedule& schedule_;
  MPI_Comm comm_;
  int rank_;
  PieceCoder coder_;
};

}  // namespace antiphon::mpi
