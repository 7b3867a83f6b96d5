// SPDX-License-Identifier: Apache-2.0
#include "patterns/chains.hpp"

#include <algorithm>

#include "patterns/disjoint_paths.hpp"

namespace antiphon {

std::vector<ChainPlace> chains_of(const Problem& p) {
  const int others = p.size - 1;
  const int count = disjoint_paths_taken(others, p.parameter("chains"));
  std::vector<ChainPlace> chains;
  for (int number = 0; number < count; ++number) {
    std::vector<int> ranks{p.root};
    for (const int place : disjoint_path(others, number)) ranks.push_back(p.absolute(place + 1));
    const auto own = std::find(ranks.begin(), ranks.end(), p.rank);
    ChainPlace& chain = chains.emplace_back();
    if (own != ranks.begin()) chain.towards_root = *(own - 1);
    if (own + 1 != ranks.end()) chain.away = *(own + 1);
  }
  return chains;
}

}  // namespace antiphon
