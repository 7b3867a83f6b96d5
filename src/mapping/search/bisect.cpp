// SPDX-License-Identifier: Apache-2.0
#include "mapping/search/bisect.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <tuple>

#include "antiphon/index.hpp"

namespace antiphon::mapping {

namespace {

constexpr int coarse_enough = 48;
constexpr int max_passes = 8;

bool is_fixed(const CutGraph& g, int v) { return !g.fixed.empty() && g.fixed[at(v)] >= 0; }

/// One run of refinement passes over a graph, from given sides.
class Refiner {
 public:
  Refiner(const CutGraph& graph, Sides& sides, Range range, int slack)
      : g_(graph), side_(sides), range_(range), slack_(slack) {}

  /// Returns the cost of the result: cut and bias.
  float run() {
    for (int pass = 0; pass < max_passes && improve(); ++pass) {
    }
    return cost_;
  }

 private:
  struct Entry {
    float gain;
    int vertex;
    int stamp;
    bool operator<(const Entry& o) const { return gain < o.gain; }
  };

  void prepare() {
    const int n = g_.vertices();
    gain_.assign(at(n), 0);
    stamp_.assign(at(n), 0);
    locked_.assign(at(n), 0);
    left_ = 0;
    float cut = 0;
    float bias = 0;
    for (auto& q : queue_) q = {};
    for (int v = 0; v < n; ++v) {
      if (side_[at(v)] == 0) left_ += g_.size[at(v)];
      float out = 0;
      float in = 0;
      for (int e = g_.first[at(v)]; e < g_.first[at(v) + 1]; ++e)
        (side_[at(g_.to[at(e)])] != side_[at(v)] ? out : in) += g_.weight[at(e)];
      cut += out;
      const float b = g_.bias.empty() ? 0 : g_.bias[at(v)];
      if (side_[at(v)] == 1) bias += b;
      gain_[at(v)] = out - in + (side_[at(v)] == 0 ? -b : b);
      if (is_fixed(g_, v)) {
        locked_[at(v)] = 1;
      } else {
        queue_[side_[at(v)]].push({gain_[at(v)], v, 0});
      }
    }
    cost_ = cut / 2 + bias;
  }

  int best_of(int side) {
    auto& q = queue_[side];
    while (!q.empty()) {
      const Entry& e = q.top();
      if (locked_[at(e.vertex)] == 0 && stamp_[at(e.vertex)] == e.stamp && side_[at(e.vertex)] == side) return e.vertex;
      q.pop();
    }
    return -1;
  }

  [[nodiscard]] int outside(int left) const { return std::max({range_.least - left, left - range_.most, 0}); }

  /// Chooses the side from which the next vertex moves.
  int choose() {
    const int a = best_of(0);
    const int b = best_of(1);
    // A side that is too heavy must give a vertex. If both may, the greater gain decides.
    if (left_ > range_.most + (slack_ > 0 ? slack_ - 1 : 0)) return a;
    if (left_ < range_.least - (slack_ > 0 ? slack_ - 1 : 0)) return b;
    const bool a_may = a >= 0 && outside(left_ - g_.size[at(a)]) <= std::max(slack_, 1);
    const bool b_may = b >= 0 && outside(left_ + g_.size[at(b)]) <= std::max(slack_, 1);
    if (!a_may) return b_may ? b : -1;
    if (!b_may) return a;
    return gain_[at(a)] >= gain_[at(b)] ? a : b;
  }

  void move(int v) {
    locked_[at(v)] = 1;
    left_ += side_[at(v)] == 0 ? -g_.size[at(v)] : g_.size[at(v)];
    side_[at(v)] ^= 1;
    for (int e = g_.first[at(v)]; e < g_.first[at(v) + 1]; ++e) {
      const int u = g_.to[at(e)];
      if (locked_[at(u)] != 0) continue;
      gain_[at(u)] += side_[at(u)] == side_[at(v)] ? -2 * g_.weight[at(e)] : 2 * g_.weight[at(e)];
      queue_[side_[at(u)]].push({gain_[at(u)], u, ++stamp_[at(u)]});
    }
  }

  /// Does one pass. Returns whether it improved anything.
  bool improve() {
    prepare();
    const auto off = [&] {
      const int o = outside(left_);
      return o <= slack_ ? 0 : o;
    };
    float cost = cost_;
    float best = cost_;
    int best_off = off();
    const int start_off = best_off;
    std::size_t keep = 0;
    std::vector<int> moved;
    const int patience = 60 + g_.vertices() / 24;
    for (int idle = 0; idle < patience; ++idle) {
      const int v = choose();
      if (v < 0) break;
      cost -= gain_[at(v)];
      move(v);
      moved.push_back(v);
      const int now = off();
      if (now < best_off || (now == best_off && cost < best - 1e-6F * std::fabs(best))) {
        best_off = now;
        best = cost;
        keep = moved.size();
        idle = 0;
      }
    }
    for (std::size_t i = moved.size(); i > keep; --i) side_[at(moved[i - 1])] ^= 1;
    const bool better = best_off < start_off || best < cost_ - 1e-6F * std::fabs(cost_);
    cost_ = best;
    return better;
  }

  const CutGraph& g_;
  Sides& side_;
  Range range_;
  int slack_;
  int left_ = 0;
  float cost_ = 0;
  std::vector<float> gain_;
  std::vector<int> stamp_;
  std::vector<char> locked_;
  std::priority_queue<Entry> queue_[2];
};

/// Tells whether so many vertices instead of `before` are worth a coarser graph.
bool is_coarser(int count, int before) { return count < before * 92 / 100; }

/// Returns the neighbour that the vertex is tied to most, or −1.
int hub_of(const CutGraph& g, int v) {
  const auto begin = g.weight.begin() + g.first[at(v)], end = g.weight.begin() + g.first[at(v) + 1];
  return begin == end ? -1 : g.to[static_cast<std::size_t>(std::max_element(begin, end) - g.weight.begin())];
}

/// Matches what has no free neighbour with others of the same hub, as far as there are any: the leaves of a star, or
/// ranks that send nothing.
void match_left_over(const CutGraph& g, int max_size, const std::vector<int>& order, std::vector<int>& partner) {
  struct Left {
    int side, hub, vertex;
  };
  std::vector<Left> left;
  for (const int v : order) {
    if (partner[at(v)] == v) left.push_back({g.fixed.empty() ? -1 : g.fixed[at(v)], hub_of(g, v), v});
  }
  std::stable_sort(left.begin(), left.end(),
                   [](const Left& a, const Left& b) { return std::tie(a.side, a.hub) < std::tie(b.side, b.hub); });
  for (std::size_t i = 1; i < left.size(); ++i) {
    const int v = left[i - 1].vertex, u = left[i].vertex;
    if (left[i - 1].side != left[i].side || g.size[at(v)] + g.size[at(u)] > max_size) continue;
    partner[at(v)] = u;
    partner[at(u)] = v;
    ++i;
  }
}

/// Matches neighbours that become one vertex. Returns each vertex's number in the coarser graph.
std::vector<int> match(const CutGraph& g, int max_size, Random& random, int& count) {
  const int n = g.vertices();
  std::vector<int> partner(at(n), -1);
  std::vector<int> order(at(n));
  std::iota(order.begin(), order.end(), 0);
  random.shuffle(order.begin(), order.end());
  count = n;
  for (const int v : order) {
    if (partner[at(v)] >= 0) continue;
    int best = v;
    float most = 0;
    for (int e = g.first[at(v)]; e < g.first[at(v) + 1]; ++e) {
      const int u = g.to[at(e)];
      if (partner[at(u)] >= 0 || u == v || g.size[at(u)] + g.size[at(v)] > max_size) continue;
      if (is_fixed(g, u) != is_fixed(g, v) || (is_fixed(g, u) && g.fixed[at(u)] != g.fixed[at(v)])) continue;
      const float rated = g.weight[at(e)] / (static_cast<float>(g.size[at(u)]) * static_cast<float>(g.size[at(v)]));
      if (rated > most) {
        most = rated;
        best = u;
      }
    }
    partner[at(v)] = best;
    partner[at(best)] = v;
    count -= best == v ? 0 : 1;
  }
  if (!is_coarser(count, n)) match_left_over(g, max_size, order, partner);
  std::vector<int> coarse(at(n), -1);
  count = 0;
  for (int v = 0; v < n; ++v) {
    if (coarse[at(v)] < 0) coarse[at(v)] = coarse[at(partner[at(v)])] = count++;
  }
  return coarse;
}

CutGraph contract(const CutGraph& g, const std::vector<int>& coarse, int count) {
  CutGraph c;
  c.size.assign(at(count), 0);
  if (!g.bias.empty()) c.bias.assign(at(count), 0);
  if (!g.fixed.empty()) c.fixed.assign(at(count), -1);
  std::vector<int> members(at(g.vertices()));
  std::vector<int> begin(at(count) + 1, 0);
  for (const int x : coarse) ++begin[at(x) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  auto next = begin;
  for (int v = 0; v < g.vertices(); ++v) members[at(next[at(coarse[at(v)])]++)] = v;
  std::vector<int> place(at(count), -1);
  c.to.reserve(g.to.size());
  c.weight.reserve(g.to.size());
  for (int x = 0; x < count; ++x) {
    const auto row = c.to.size();
    for (int m = begin[at(x)]; m < begin[at(x) + 1]; ++m) {
      const int v = members[at(m)];
      c.size[at(x)] += g.size[at(v)];
      if (!g.bias.empty()) c.bias[at(x)] += g.bias[at(v)];
      if (is_fixed(g, v)) c.fixed[at(x)] = g.fixed[at(v)];
      for (int e = g.first[at(v)]; e < g.first[at(v) + 1]; ++e) {
        const int y = coarse[at(g.to[at(e)])];
        if (y == x) continue;
        if (place[at(y)] < static_cast<int>(row)) {
          place[at(y)] = static_cast<int>(c.to.size());
          c.to.push_back(y);
          c.weight.push_back(g.weight[at(e)]);
        } else {
          c.weight[at(place[at(y)])] += g.weight[at(e)];
        }
      }
    }
    c.first.push_back(static_cast<int>(c.to.size()));
  }
  return c;
}

/// Grows side 0 from a vertex, always by the vertex that is tied to it most.
Sides grow(const CutGraph& g, int target, Random& random) {
  const int n = g.vertices();
  Sides side(at(n), 1);
  std::vector<float> hold(at(n), 0);
  int size = 0;
  const auto take = [&](int v) {
    side[at(v)] = 0;
    size += g.size[at(v)];
    for (int e = g.first[at(v)]; e < g.first[at(v) + 1]; ++e) hold[at(g.to[at(e)])] += g.weight[at(e)];
  };
  for (int v = 0; v < n; ++v) {
    if (!g.bias.empty()) hold[at(v)] = g.bias[at(v)];
    if (is_fixed(g, v) && g.fixed[at(v)] == 0) take(v);
  }
  int next = static_cast<int>(random.below(static_cast<std::uint32_t>(n)));
  if (side[at(next)] == 0 || is_fixed(g, next)) next = -1;
  while (size < target) {
    if (next < 0) {
      float most = -1e30F;
      for (int v = 0; v < n; ++v) {
        if (side[at(v)] == 0 || is_fixed(g, v)) continue;
        const float h = hold[at(v)] + 1e-9F * random.unit();
        if (h > most) {
          most = h;
          next = v;
        }
      }
    }
    if (next < 0 || (size > 0 && size + g.size[at(next)] / 2 > target)) break;
    take(next);
    next = -1;
  }
  return side;
}

Sides cut_coarsest(const CutGraph& g, Range range, int slack, Random& random) {
  Sides best;
  float least = 0;
  const int n = g.vertices();
  const int tries = n <= 8 ? 4 : n <= 64 ? 8 : 4;
  for (int t = 0; t < tries; ++t) {
    // If the range is wide, the targets cover all of it.
    const int target =
        range.most <= range.least ? range.least : range.least + (range.most - range.least) * t / (tries - 1);
    Sides side = grow(g, target, random);
    float cost = Refiner(g, side, range, slack).run();
    int left = 0;
    for (int v = 0; v < n; ++v) left += side[at(v)] == 0 ? g.size[at(v)] : 0;
    const int off = std::max({range.least - left, left - range.most, 0});
    if (off > slack) cost = 1e25F * static_cast<float>(1 + off);
    if (best.empty() || cost < least) {
      least = cost;
      best = std::move(side);
    }
  }
  return best;
}

Sides cut(const CutGraph& g, Range range, Random& random, bool exact) {
  const int biggest = *std::max_element(g.size.begin(), g.size.end());
  const int slack = exact ? 0 : biggest;
  if (g.vertices() > coarse_enough) {
    const int all = std::accumulate(g.size.begin(), g.size.end(), 0);
    int count = 0;
    const std::vector<int> coarse = match(g, std::max(2, all / 16), random, count);
    if (is_coarser(count, g.vertices())) {
      const Sides coarse_side = cut(contract(g, coarse, count), range, random, false);
      Sides side(at(g.vertices()));
      for (int v = 0; v < g.vertices(); ++v) side[at(v)] = coarse_side[at(coarse[at(v)])];
      Refiner(g, side, range, slack).run();
      return side;
    }
  }
  return cut_coarsest(g, range, slack, random);
}

/// Moves single vertices until the range holds, because refinement may leave it violated.
void repair(const CutGraph& g, Sides& side, Range range) {
  int left = 0;
  for (int v = 0; v < g.vertices(); ++v) left += side[at(v)] == 0 ? g.size[at(v)] : 0;
  for (int v = 0; v < g.vertices() && (left < range.least || left > range.most); ++v) {
    if (is_fixed(g, v) || side[at(v)] == (left < range.least ? 0 : 1)) continue;
    left += side[at(v)] == 0 ? -g.size[at(v)] : g.size[at(v)];
    side[at(v)] ^= 1;
  }
}

}  // namespace

Sides bisect(const CutGraph& graph, Range range, Random& random) {
  if (graph.vertices() == 0) return {};
  Sides side = cut(graph, range, random, true);
  repair(graph, side, range);
  return side;
}

}  // namespace antiphon::mapping
