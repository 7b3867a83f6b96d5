// SPDX-License-Identifier: Apache-2.0
#include "cost/symmetry.hpp"

#include <algorithm>
#include <bit>
#include <optional>

namespace antiphon {

namespace {

bool is_message(const Op& op) { return op.kind == OpKind::send || op.kind == OpKind::recv; }

/// Returns whether the messages of rank rb are those of rank ra with the ranks renamed. The places and the number of
/// parts in which data is copied may depend on the rank.
bool alike(const Schedule& a, int ra, const Schedule& b, int rb, const Symmetry& symmetry) {
  auto x = a.ops().begin();
  auto y = b.ops().begin();
  while (true) {
    x = std::find_if(x, a.ops().end(), is_message);
    y = std::find_if(y, b.ops().end(), is_message);
    if (x == a.ops().end() || y == b.ops().end()) return x == a.ops().end() && y == b.ops().end();
    if (x->kind != y->kind || x->tag != y->tag || x->bytes() != y->bytes() || x->cut != y->cut) return false;
    if (symmetry.distance(ra, x->peer) != symmetry.distance(rb, y->peer)) return false;
    ++x;
    ++y;
  }
}

/// Returns a sample: ranks far from one another and from both ends, the first and last ranks, the root, which usually
/// differs from all others, and a rank that the root would stand for.
std::vector<int> sample(int ranks, int root, int period, bool quick) {
  std::vector<int> chosen{1, period + 1, ranks / 2, ranks - 1, root, (root + period) % ranks};
  if (!quick) chosen.insert(chosen.end(), {2, 3, ranks / 3, ranks / 2 - 1, ranks * 5 / 7, ranks - 2});
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  std::erase_if(chosen, [&](int r) { return r < 1 || r >= ranks; });
  return chosen;
}

bool holds(const std::function<Schedule(int)>& build, const Symmetry& symmetry, int root, bool quick) {
  std::vector<std::optional<Schedule>> first(static_cast<std::size_t>(symmetry.period));
  for (const int r : sample(symmetry.ranks, root, symmetry.period, quick)) {
    if (r < symmetry.period) continue;
    const int stands = r % symmetry.period;
    auto& one = first[static_cast<std::size_t>(stands)];
    if (!one) one = build(stands);
    if (!alike(*one, stands, build(r), r, symmetry)) return false;
  }
  return true;
}

}  // namespace

Symmetry find_symmetry(const std::function<Schedule(int rank)>& build, int ranks, int step, int root, bool quick) {
  const Symmetry all{ranks, ranks, false};
  if (step <= 0 || step >= ranks || ranks % step != 0) return all;
  // Groups name ranks, so no rank can stand for another.
  if (!build(0).groups().empty()) return all;
  const Symmetry rotation{ranks, step, false};
  if (holds(build, rotation, root, quick)) return rotation;
  const bool powers =
      std::has_single_bit(static_cast<unsigned>(ranks)) && std::has_single_bit(static_cast<unsigned>(step));
  const Symmetry exchange{ranks, step, true};
  return powers && holds(build, exchange, root, quick) ? exchange : all;
}

}  // namespace antiphon
