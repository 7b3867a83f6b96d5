// SPDX-License-Identifier: Apache-2.0
// This file encodes and decodes pieces of schedules' messages.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "antiphon/codec.hpp"
#include "antiphon/schedule.hpp"
#include "antiphon/slot.hpp"
#include "compress/collectives.hpp"
#include "compress/policy.hpp"
#include "run/runner.hpp"

namespace antiphon::mpi {

/// Encodes and decodes the pieces of one runner, and counts what that does in `collective_coding`.
class PieceCoder {
 public:
  /// No piece is longer than `longest_bytes`; 0: nothing is encoded.
  PieceCoder(std::int64_t longest_bytes, MPI_Comm comm, const CodingTerms& terms);

  /// `last` marks a message's last piece, which may have any length. Returns an MPI error code.
  int encode(std::byte* slot, std::span<const std::byte> data, bool last, const Binding& binding);
  /// Decodes a frame that came from this rank of the communicator. Returns an MPI error code that names the channel if
  /// the frame is not as it was sent.
  int decode(std::span<std::byte> data, const std::byte* slot, MPI_Comm comm, int from) const;

 private:
  void judge(std::size_t bytes, std::size_t frame_bytes, std::int64_t coding_ns);

  CodingTerms terms_;
  Policy policy_;                 ///< where this rank judges alone
  std::int64_t comm_key_ = 0;     ///< distinguishes this communicator's data from others'
  std::vector<std::byte> frame_;  ///< room in which to encode
};

}  // namespace antiphon::mpi
