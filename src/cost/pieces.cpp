// SPDX-License-Identifier: Apache-2.0
#include "cost/pieces.hpp"

namespace antiphon {

std::int64_t about_all_pieces(const std::function<std::int64_t(int rank)>& pieces_of_rank, int root, int ranks) {
  const std::int64_t of_root = pieces_of_rank(root);
  // Schedules of very many messages take long to build, and are of collectives in which all ranks do alike.
  const int looked_at = of_root > few_pieces ? 1 : 8;
  std::int64_t total = 0;
  for (int i = 1; i <= looked_at; ++i) {
    const int r = (root + static_cast<int>(static_cast<std::int64_t>(i) * (ranks - 1) / (looked_at + 1))) % ranks;
    total += pieces_of_rank(r == root ? (r + 1) % ranks : r);
  }
  return of_root + total * (ranks - 1) / looked_at;
}

}  // namespace antiphon
