// SPDX-License-Identifier: Apache-2.0
// This file encodes and decodes pieces of schedules' messages.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "antiphon/codec.hpp"
#include "antiphon/schedule.hpp"
#include "compress/collectives.hpp"
#include "run/runner.hpp"

namespace antiphon::mpi {

/// A slot holds a piece of encoded data: first the length of its frame, which stays on this rank, then the frame.
namespace slot {

inline constexpr std::int64_t length_bytes = 8;
static_assert(encoded_overhead_bytes == length_bytes + static_cast<std::int64_t>(codec::frame_overhead_bytes));

inline std::int64_t frame_length(const std::byte* slot) {
  std::int64_t length = 0;
  std::memcpy(&length, slot, sizeof length);
  return length;
}
inline void set_frame_length(std::byte* slot, std::int64_t length) { std::memcpy(slot, &length, sizeof length); }

}  // namespace slot

/// Does the encode and decode operations of one schedule, and counts what they do in `collective_coding`.
class PieceCoder {
 public:
  PieceCoder(const Schedule& schedule, MPI_Comm comm, const CodingTerms& terms);

  /// `last` marks the operation's last piece, which may have any length. Returns an MPI error code, as decode() does.
  int encode(std::byte* slot, std::span<const std::byte> data, bool last, const Binding& binding);
  static int decode(std::span<std::byte> data, const std::byte* slot);

 private:
  CodingTerms terms_;
  std::int64_t comm_key_ = 0;     ///< distinguishes this communicator's data from others'
  std::vector<std::byte> frame_;  ///< room in which to encode
};

}  // namespace antiphon::mpi
