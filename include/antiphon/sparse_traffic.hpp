// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "antiphon/algorithm.hpp"

namespace antiphon {

/// Who sends how much to whom, without the pairs that send nothing: parallel lists, sorted by sender, then receiver.
struct SparseTraffic {
  std::vector<std::int32_t> source, target;
  std::vector<std::int64_t> messages;  ///< pieces, tokens included
  std::vector<std::int64_t> bytes;
  /// One rank's messages stand for all: its bytes and those of a sample of others differ by less than one in a
  /// thousand.
  bool approximate = false;
};

/// A call of which one rank's messages can be asked for without those of the others.
struct TrafficCall {
  Collective collective = Collective::barrier;
  int size = 1;
  int root = 0;
  std::int64_t bytes = 0;
  std::int64_t element_bytes = 1;
  bool commutative = true;
  std::vector<std::int64_t>
      counts;  ///< irregular collectives but alltoallv: bytes of each rank's block; empty: `bytes` each
  /// Up to this many ranks, every rank's schedule is built; beyond, one stands for all where a sample shows that it
  /// does.
  int exact_ranks = 1024;
};

/// The messages of all ranks, in memory that grows with their number and not with the square of the ranks'. Throws
/// InvalidArgument if the algorithm does not support the call. Multicasts count for each of their receivers.
SparseTraffic sparse_traffic(const Algorithm& algorithm, const TrafficCall& call, const Parameters& parameters);

}  // namespace antiphon
