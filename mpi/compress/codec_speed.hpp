// SPDX-License-Identifier: Apache-2.0
// Codecs are measured in MPI_Init, where no profile says how fast they are.
#pragma once

#include <cstdint>
#include <vector>

namespace antiphon::mpi {

/// What coding takes, in processor time. Plans are not counted, because they are kept.
struct CodecSpeed {
  double encode_ns_per_byte = 0;
  double decode_ns_per_byte = 0;
  [[nodiscard]] double both_ns_per_byte() const { return encode_ns_per_byte + decode_ns_per_byte; }
};

/// What codecs usually take for floating-point numbers in caches that others use, too.
inline constexpr CodecSpeed usual_codec_speed{0.8, 0.5};

/// Measures on a few nodes, a few milliseconds each, and returns the slowest node's speed on every rank. The speed is
/// that of floating-point numbers of a smooth field with some noise. Collective over MPI_COMM_WORLD.
CodecSpeed measure_codecs(const std::vector<int>& node_of_rank);

}  // namespace antiphon::mpi
