// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace antiphon::mapping {

/// A machine as Scotch sees it: a tree with equal branches, a torus, or a number of equal nodes.
struct ScotchMachine {
  enum class Form : std::uint8_t { complete, tree, torus };
  Form form = Form::complete;
  std::vector<std::int64_t> sizes;  ///< tree: branches by level from the top; torus: lengths; else the number of nodes
  std::vector<std::int64_t> weights;  ///< tree: the cost of a link, by level
};

struct ScotchGraph {
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> to;
  std::vector<std::int64_t> weight;
};

/// Says why Scotch's library cannot be used; empty if it can. The search for the library happens once.
std::string scotch_missing();
/// Returns the terminal of every vertex, found by SCOTCH_graphMap with its strategy for quality. Throws Error if Scotch
/// reports an error.
std::vector<int> scotch_map(const ScotchGraph& graph, const ScotchMachine& machine, std::uint64_t seed);

}  // namespace antiphon::mapping
