// SPDX-License-Identifier: Apache-2.0
#include "cost/symmetry.hpp"

#include <algorithm>
#include <bit>

namespace antiphon {

namespace {

bool is_message(const Op& op) { return op.kind == OpKind::send || op.kind == OpKind::recv; }

/// Whether `b` of rank rb is `a` of rank ra with the ranks renamed.
bool alike(const Schedule& a, int ra, const Schedule& b, int rb, const Symmetry& symmetry) {
  if (a.ops().size() != b.ops().size() || a.all_deps().size() != b.all_deps().size()) return false;
  for (std::size_t i = 0; i < a.ops().size(); ++i) {
    const Op& x = a.ops()[i];
    const Op& y = b.ops()[i];
    if (x.kind != y.kind || x.tag != y.tag || x.bytes() != y.bytes() || x.cut != y.cut || x.deps_begin != y.deps_begin) return false;
    if (is_message(x) && symmetry.distance(ra, x.peer) != symmetry.distance(rb, y.peer)) return false;
  }
  return std::equal(a.all_deps().begin(), a.all_deps().end(), b.all_deps().begin());
}

/// Ranks far from one another and from the ends, the first and the last.
std::vector<int> sample(int ranks) {
  std::vector<int> chosen{1, 2, 3, ranks / 3, ranks / 2 - 1, ranks / 2, ranks * 5 / 7, ranks - 2, ranks - 1};
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  std::erase_if(chosen, [&](int r) { return r < 1 || r >= ranks; });
  return chosen;
}

bool holds(const std::function<Schedule(int)>& build, const Symmetry& symmetry) {
  std::vector<Schedule> first;
  for (int r = 0; r < symmetry.period; ++r) first.push_back(build(r));
  for (const int r : sample(symmetry.ranks)) {
    if (r < symmetry.period) continue;
    const int stands = r % symmetry.period;
    if (!alike(first[static_cast<std::size_t>(stands)], stands, build(r), r, symmetry)) return false;
  }
  return true;
}

}  // namespace

Symmetry find_symmetry(const std::function<Schedule(int rank)>& build, int ranks, int step) {
  const Symmetry all{ranks, ranks, false};
  if (step <= 0 || step >= ranks || ranks % step != 0) return all;
  const Symmetry rotation{ranks, step, false};
  if (holds(build, rotation)) return rotation;
  const bool powers = std::has_single_bit(static_cast<unsigned>(ranks)) && std::has_single_bit(static_cast<unsigned>(step));
  const Symmetry exchange{ranks, step, true};
  return powers && holds(build, exchange) ? exchange : all;
}

}  // namespace antiphon
