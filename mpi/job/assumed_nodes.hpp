// SPDX-License-Identifier: Apache-2.0
// ANTIPHON_NODES: ranks are treated as if they were on these nodes, to try a machine on another one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace antiphon::mpi {

struct AssumedLocation {
  /// The longest name of a node, with its final zero.
  static constexpr std::size_t most_name_bytes = 256;

  std::string node;
  std::optional<int> socket;  ///< none: the text does not say
};

/// Each rank's location, in the order of ranks: "node01*4,node02*4", or with sockets "node01/0*2,node01/1*2". Empty
/// where the text is wrong.
std::vector<AssumedLocation> parse_assumed_nodes(const std::string& text);

}  // namespace antiphon::mpi
