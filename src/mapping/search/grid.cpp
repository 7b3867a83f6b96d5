// SPDX-License-Identifier: Apache-2.0
// Decides whether measured distances are those of a torus: the hops must explain nearly all of their variance.
#include <algorithm>
#include <cstdlib>
#include <map>

#include "antiphon/random.hpp"
#include "mapping/search/domains.hpp"

namespace antiphon::mapping {

namespace {

constexpr int samples = 1500;
constexpr double enough = 0.6;

struct Sample {
  int a;
  int b;
  double distance;
};

int hops(const std::vector<int>& dims, int a, int b) {
  int sum = 0;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    const int d = dims[axis];
    const int apart = std::abs(a % d - b % d);
    sum += std::min(apart, d - apart);
    a /= d;
    b /= d;
  }
  return sum;
}

/// The share of the distances' variance that lies between classes of pairs.
template <class Class>
double explained(const std::vector<Sample>& pairs, Class class_of) {
  std::map<int, std::pair<double, int>> classes;
  double sum = 0;
  double squares = 0;
  for (const Sample& s : pairs) {
    auto& [total, count] = classes[class_of(s.a, s.b)];
    total += s.distance;
    ++count;
    sum += s.distance;
    squares += s.distance * s.distance;
  }
  const double mean_part = sum * sum / static_cast<double>(pairs.size());
  if (squares - mean_part < 1e-9 * squares) return 0;
  double between = 0;
  for (const auto& [key, value] : classes) between += value.first * value.first / value.second;
  return (between - mean_part) / (squares - mean_part);
}

void factorisations(int left, std::vector<int>& dims, std::vector<std::vector<int>>& out) {
  if (left == 1) {
    if (dims.size() > 1) out.push_back(dims);
    return;
  }
  if (dims.size() == 4) return;
  for (int d = 2; d <= left; ++d) {
    if (left % d != 0) continue;
    dims.push_back(d);
    factorisations(left / d, dims, out);
    dims.pop_back();
  }
}

}  // namespace

std::vector<int> detect_grid(const Model& model) {
  const int nodes = model.nodes();
  const Machine& machine = model.task().machine();
  if (nodes < 8 || nodes > 6000 || machine.between_nodes.empty() || model.uniform_network()) return {};
  for (int n = 0; n < nodes; ++n) {
    if (model.slots_of(n) == 0) return {};
  }
  std::vector<Sample> pairs;
  Random random(1);
  for (int i = 0; i < samples; ++i) {
    const auto a = static_cast<int>(random.below(static_cast<std::uint32_t>(nodes)));
    const auto b = static_cast<int>(random.below(static_cast<std::uint32_t>(nodes)));
    if (a != b) pairs.push_back({a, b, static_cast<double>(model.typical_nodes(a, b))});
  }
  // A tree with consecutively numbered leaves explains part of the variance too.
  double tree = 0;
  for (int leaf = 2; leaf < nodes; ++leaf) {
    if (nodes % leaf == 0)
      tree = std::max(tree, explained(pairs, [&](int a, int b) { return a / leaf == b / leaf ? 0 : 1; }));
  }
  std::vector<std::vector<int>> all;
  std::vector<int> dims;
  factorisations(nodes, dims, all);
  std::vector<int> best;
  double most = std::max(enough, tree);
  for (const auto& candidate : all) {
    const double part = explained(pairs, [&](int a, int b) { return hops(candidate, a, b); });
    // Among equally good grids the one with fewer dimensions wins: a side of 4 is the same as two sides of 2.
    if (part > most + 1e-9 || (part > most - 1e-9 && !best.empty() && candidate.size() < best.size())) {
      most = part;
      best = candidate;
    }
  }
  return best;
}

}  // namespace antiphon::mapping
