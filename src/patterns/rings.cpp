// SPDX-License-Identifier: Apache-2.0
#include "patterns/rings.hpp"

#include <algorithm>

#include "patterns/cut.hpp"
#include "patterns/disjoint_paths.hpp"

namespace antiphon {

std::vector<Ring> rings_of(const Problem& p) {
  const int count = disjoint_paths_taken(p.size - 1, p.parameter("rings"));
  std::vector<Ring> rings;
  for (int i = 0; i < count; ++i) {
    Ring ring{0, p.size, cut_of(p), 0, disjoint_ring(p.size, i)};
    ring.rank = static_cast<int>(std::find(ring.order.begin(), ring.order.end(), p.rank) - ring.order.begin());
    rings.push_back(std::move(ring));
  }
  return rings;
}

}  // namespace antiphon
