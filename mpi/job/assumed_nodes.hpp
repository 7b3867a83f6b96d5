// SPDX-License-Identifier: Apache-2.0
// ANTIPHON_NODES treats ranks as if they were on these nodes, so that one machine can imitate another.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace antiphon::mpi {

struct AssumedLocation {
  /// This is the longest name of a node, including its final zero.
  static constexpr std::size_t most_name_bytes = 256;

  std::string node;
  std::optional<int> socket;  ///< unset if the text does not name one
};

/// Returns each rank's location, in the order of ranks, from "node01*4,node02*4", or with sockets from
/// "node01/0*2,node01/1*2". The result is empty if the text is wrong.
std::vector<AssumedLocation> parse_assumed_nodes(const std::string& text);

}  // namespace antiphon::mpi
