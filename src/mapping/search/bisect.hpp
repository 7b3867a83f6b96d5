// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "mapping/search/random.hpp"

namespace antiphon::mapping {

/// A graph to be cut in two. `bias` is what a vertex costs more on side 1 than on side 0 (towards neighbours outside).
struct CutGraph {
  std::vector<int> first{0};
  std::vector<int> to;
  std::vector<float> weight;
  std::vector<int> size;  ///< of a vertex: how many ranks it stands for
  std::vector<float> bias;
  std::vector<signed char> fixed;  ///< side, or −1; empty: all free

  [[nodiscard]] int vertices() const { return static_cast<int>(size.size()); }
};

/// The sizes that side 0 may have.
struct Range {
  int least = 0;
  int most = 0;
};

using Sides = std::vector<signed char>;

/// Cuts a graph in two with little weight between: coarsened by matching neighbours, cut by growing, refined by
/// Fiduccia and Mattheyses' moves level by level. The range holds exactly on return, unless fixed vertices make that
/// impossible.
Sides bisect(const CutGraph& graph, Range range, Random& random);

}  // namespace antiphon::mapping
