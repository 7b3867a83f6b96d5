// SPDX-License-Identifier: Apache-2.0
#include "patterns/disjoint_paths.hpp"

#include <algorithm>

namespace antiphon {

int disjoint_paths(int count) { return count / 2 * 2; }

int disjoint_paths_taken(int count, std::int64_t wanted) {
  return static_cast<int>(std::clamp<std::int64_t>(wanted, 1, std::max(disjoint_paths(count), 1)));
}

std::vector<int> disjoint_path(int count, int number) {
  // The sums of neighbours in a path are 2 · first and one more, modulo count. All others have other sums.
  const int ways = count / 2;
  const int first = ways > 0 ? number % ways : 0;
  std::vector<int> places;
  for (int i = 0; i < count; ++i) {
    const int away = i % 2 == 1 ? (i + 1) / 2 : -i / 2;
    places.push_back((first + away + count) % count);
  }
  if (number >= ways) std::reverse(places.begin(), places.end());
  return places;
}

std::vector<int> disjoint_ring(int count, int number) {
  std::vector<int> ring{0};
  for (const int place : disjoint_path(count - 1, number)) ring.push_back(place + 1);
  return ring;
}

}  // namespace antiphon
