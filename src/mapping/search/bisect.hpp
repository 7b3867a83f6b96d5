// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "antiphon/random.hpp"

namespace antiphon::mapping {

/// A graph to be cut in two. `bias` is the extra cost of a vertex on side 1, because of its neighbours outside.
struct CutGraph {
  std::vector<int> first{0};
  std::vector<int> to;
  std::vector<float> weight;
  std::vector<int> size;  ///< by vertex: the number of ranks that it stands for
  std::vector<float> bias;
  std::vector<signed char> fixed;  ///< by vertex: its side, or −1; empty: all are free

  [[nodiscard]] int vertices() const { return static_cast<int>(size.size()); }
};

/// The sizes that side 0 may have.
struct Range {
  int least = 0;
  int most = 0;
};

using Sides = std::vector<signed char>;

/// Cuts a graph in two with little weight between the parts: it coarsens by matching neighbours, cuts by growing, and
/// refines each level with the moves of Fiduccia and Mattheyses. The result is within the range unless fixed vertices
/// make that impossible.
Sides bisect(const CutGraph& graph, Range range, Random& random);

}  // namespace antiphon::mapping
