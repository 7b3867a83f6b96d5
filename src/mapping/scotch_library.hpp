// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace antiphon::mapping {

/// What Scotch needs to know of a machine: a tree with equal branches, a torus, or any number of equal ones.
struct ScotchMachine {
  enum class Form : std::uint8_t { complete, tree, torus };
  Form form = Form::complete;
  std::vector<std::int64_t> sizes;    ///< branches by level, from the top; lengths of a torus; or how many there are
  std::vector<std::int64_t> weights;  ///< of a tree: what a link of the level costs
};

struct ScotchGraph {
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> to;
  std::vector<std::int64_t> weight;
};

/// Why Scotch's library cannot be used; empty if it can. It is looked for once.
std::string scotch_missing();
/// The terminal of every vertex, found by SCOTCH_graphMap with its strategy for quality. Throws Error where Scotch
/// reports one.
std::vector<int> scotch_map(const ScotchGraph& graph, const ScotchMachine& machine, std::uint64_t seed);

}  // namespace antiphon::mapping
