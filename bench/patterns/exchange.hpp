// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "antiphon/phases.hpp"

namespace bench {

/// One rank's part of a pattern: its buffers and counts as MPI_Alltoallv takes them, and the check of the result.
class Exchange {
 public:
  Exchange(const antiphon::Pattern& pattern, int rank);

  /// Overwrites the output with wrong values.
  void prepare();
  /// Number of wrong bytes in the output.
  [[nodiscard]] std::int64_t wrong_bytes() const;

  const antiphon::Pattern& pattern;
  antiphon::Problem problem;
  std::vector<int> send_counts, send_offsets, recv_counts, recv_offsets;
  std::vector<unsigned char> input, output;
};

}  // namespace bench
