// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "antiphon/phases.hpp"

namespace bench {

/// One rank's part of a pattern: its buffers and counts as MPI_Alltoallv takes them, and the check of what came in.
class Exchange {
 public:
  Exchange(const antiphon::Pattern& pattern, int rank);

  /// Spoils the output.
  void prepare();
  /// Bytes of the output that are not what they must be.
  [[nodiscard]] std::int64_t wrong_bytes() const;

  const antiphon::Pattern& pattern;
  antiphon::Problem problem;
  std::vector<int> send_counts, send_offsets, recv_counts, recv_offsets;
  std::vector<unsigned char> input, output;
};

}  // namespace bench
