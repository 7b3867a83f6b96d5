// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "antiphon/algorithm.hpp"

namespace antiphon {

/// The traffic between ranks without the pairs that send nothing: parallel lists, sorted by sender, then receiver.
struct SparseTraffic {
  std::vector<std::int32_t> source, target;
  std::vector<std::int64_t> messages;  ///< pieces, tokens included
  std::vector<std::int64_t> bytes;
  /// One rank's messages stand for all: its bytes and those of a sample of others differ by less than one in a
  /// thousand.
  bool approximate = false;
};

/// A call for which one rank's messages can be computed without those of the other ranks.
struct TrafficCall {
  Collective collective = Collective::barrier;
  int size = 1;
  int root = 0;
  std::int64_t bytes = 0;
  std::int64_t element_bytes = 1;
  bool commutative = true;
  std::vector<std::int64_t>
      counts;  ///< irregular collectives but alltoallv: bytes of each rank's block; empty: `bytes` each
  /// The node of each rank, along which a run puts them where the algorithm lets it; empty: unknown.
  std::vector<int> node_of_rank;
  /// Up to this many ranks, every rank's schedule is built. Beyond, one rank stands for all where a sample shows that
  /// this is right.
  int exact_ranks = 1024;
};

/// Returns the messages of all ranks, in memory that grows with their number and not with the square of the number of
/// ranks. Throws InvalidArgument if the algorithm does not support the call. Multicasts count once for each receiver.
SparseTraffic sparse_traffic(const Algorithm& algorithm, const TrafficCall& call, const Parameters& parameters);

}  // namespace antiphon
