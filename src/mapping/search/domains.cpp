// SPDX-License-Identifier: Apache-2.0
#include "mapping/search/domains.hpp"

#include <algorithm>
#include <deque>
#include <numeric>

#include "antiphon/index.hpp"
#include "mapping/search/bisect.hpp"

namespace antiphon::mapping {

namespace {

/// Number of each node's neighbours in the graph that halves a measured machine.
constexpr int nearest_count = 10;

/// Pairs of a node list and a domain. They are handled level by level, so that children follow all parents.
struct Work {
  int domain;
  std::vector<int> nodes;
};

}  // namespace

Domains::Domains(const Model& model) : model_(model) {
  const Machine& machine = model.task().machine();
  grid_ = machine.torus && !machine.between_nodes.empty() ? machine.torus->dims : detect_grid(model);
  order_.resize(at(model.slots()));
  Nodes nodes;
  for (int n = 0; n < model.nodes(); ++n) {
    if (model.slots_of(n) > 0) nodes.push_back(n);
  }
  std::deque<Work> work{{add(0, model.slots()), std::move(nodes)}};
  while (!work.empty()) {
    const Work w = std::move(work.front());
    work.pop_front();
    const Domain d = domains_[at(w.domain)];
    if (w.nodes.size() == 1) {
      const int node = w.nodes[0];
      for (int i = d.begin; i < d.end; ++i) order_[at(i)] = model.first_slot(node) + i - d.begin;
      halve_node(w.domain, node);
      continue;
    }
    auto [left, right] = split(w.nodes);
    const int middle = d.begin + capacity(left);
    const int l = add(d.begin, middle);
    const int r = add(middle, d.end);
    domains_[at(w.domain)].left = l;
    domains_[at(w.domain)].right = r;
    work.push_back({l, std::move(left)});
    work.push_back({r, std::move(right)});
  }
}

int Domains::add(int begin, int end) {
  domains_.push_back({begin, end});
  return static_cast<int>(domains_.size()) - 1;
}

int Domains::capacity(const Nodes& nodes) const {
  int sum = 0;
  for (const int n : nodes) sum += model_.slots_of(n);
  return sum;
}

/// Splits one node; its slots keep their order.
void Domains::halve_node(int domain, int node) {
  const int offset = model_.first_slot(node) - domains_[at(domain)].begin;
  std::deque<int> work{domain};
  while (!work.empty()) {
    const int d = work.front();
    work.pop_front();
    const int begin = domains_[at(d)].begin;
    const int end = domains_[at(d)].end;
    if (alike(node, begin + offset - model_.first_slot(node), end + offset - model_.first_slot(node))) continue;
    const int middle =
        begin + core_split(node, begin + offset - model_.first_slot(node), end + offset - model_.first_slot(node));
    const int l = add(begin, middle);
    const int r = add(middle, end);
    domains_[at(d)].left = l;
    domains_[at(d)].right = r;
    work.push_back(l);
    work.push_back(r);
  }
}

bool Domains::alike(int node, int begin, int end) const {
  if (end - begin <= 1) return true;
  const Machine& machine = model_.task().machine();
  const NodeKind& kind = machine.kinds[at(machine.nodes[at(node)].kind)];
  if (!machine.between_cores.empty() || !kind.between.empty()) return false;
  if (kind.levels.empty()) return true;
  const int width = kind.levels.front().width;
  return begin / width == (end - 1) / width;
}

/// Returns how many of these slots go left: about half, at the border of a level if there is one.
int Domains::core_split(int node, int begin, int end) const {
  const Machine& machine = model_.task().machine();
  const NodeKind& kind = machine.kinds[at(machine.nodes[at(node)].kind)];
  for (auto level = kind.levels.rbegin(); level != kind.levels.rend(); ++level) {
    const int width = level->width;
    const int units = (end - 1) / width - begin / width + 1;
    if (units <= 1) continue;
    return std::min((begin / width + units / 2) * width, end - 1) - begin;
  }
  return (end - begin) / 2;
}

std::pair<Domains::Nodes, Domains::Nodes> Domains::split(const Nodes& nodes) const {
  if (!grid_.empty()) return split_grid(nodes);
  const Machine& machine = model_.task().machine();
  if (machine.between_nodes.empty() && machine.between_cores.empty()) return split_tree(nodes);
  return split_measured(nodes);
}

/// Cuts the longest side of the box in the middle.
std::pair<Domains::Nodes, Domains::Nodes> Domains::split_grid(const Nodes& nodes) const {
  int stride = 1;
  int best_length = 0;
  int best_stride = 1;
  int best_dim = 1;
  int best_middle = 0;
  for (std::size_t axis = grid_.size(); axis-- > 0;) {
    const int dim = grid_[axis];
    int low = dim;
    int high = 0;
    for (const int n : nodes) {
      low = std::min(low, n / stride % dim);
      high = std::max(high, n / stride % dim);
    }
    if (high - low + 1 >= best_length) {
      best_length = high - low + 1;
      best_stride = stride;
      best_dim = dim;
      best_middle = low + (high - low + 1) / 2;
    }
    stride *= dim;
  }
  std::pair<Nodes, Nodes> halves;
  for (const int n : nodes) (n / best_stride % best_dim < best_middle ? halves.first : halves.second).push_back(n);
  return halves;
}

/// Puts whole switches on either side, in order, and splits the nodes of one switch in the middle if needed.
std::pair<Domains::Nodes, Domains::Nodes> Domains::split_tree(const Nodes& nodes) const {
  const Machine& machine = model_.task().machine();
  int top = machine.nodes[at(nodes[0])].switch_index;
  for (const int n : nodes) {
    int s = machine.nodes[at(n)].switch_index;
    while (s != top) {
      (s > top ? s : top) = machine.switches[at(std::max(s, top))].parent;
    }
  }
  // A node on the common switch itself is a group of its own, like all nodes below one child.
  std::vector<std::pair<int, Nodes>> groups;
  std::vector<int> group_of_switch(machine.switches.size(), -1);
  for (const int n : nodes) {
    int s = machine.nodes[at(n)].switch_index;
    while (s != top && machine.switches[at(s)].parent != top) s = machine.switches[at(s)].parent;
    int& group = group_of_switch[at(s)];
    if (group < 0) {
      group = static_cast<int>(groups.size());
      groups.push_back({s, {}});
    }
    groups[at(group)].second.push_back(n);
  }
  const auto middle = nodes.begin() + static_cast<std::ptrdiff_t>(nodes.size() / 2);
  if (groups.size() == 1) return {{nodes.begin(), middle}, {middle, nodes.end()}};
  const int all = capacity(nodes);
  std::pair<Nodes, Nodes> halves;
  int left = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const int size = capacity(groups[g].second);
    const bool to_left = g == 0 || (g + 1 < groups.size() && 2 * left + size <= all);
    Nodes& half = to_left && halves.second.empty() ? halves.first : halves.second;
    if (&half == &halves.first) left += size;
    half.insert(half.end(), groups[g].second.begin(), groups[g].second.end());
  }
  return halves;
}

/// Cuts where distances are long: bisects the graph of each node's nearest nodes.
std::pair<Domains::Nodes, Domains::Nodes> Domains::split_measured(const Nodes& nodes) const {
  const int n = static_cast<int>(nodes.size());
  std::vector<std::vector<std::pair<int, float>>> rows(at(n));
  std::vector<std::pair<float, int>> near;
  for (int a = 0; a < n; ++a) {
    near.clear();
    for (int b = 0; b < n; ++b) {
      if (b != a) near.push_back({model_.typical_nodes(nodes[at(a)], nodes[at(b)]), b});
    }
    const int keep = std::min(nearest_count, static_cast<int>(near.size()));
    std::partial_sort(near.begin(), near.begin() + keep, near.end());
    for (int k = 0; k < keep; ++k) {
      const float weight = 1 / std::max(near[at(k)].first, 1e-9F);
      rows[at(a)].push_back({near[at(k)].second, weight * weight});
      rows[at(near[at(k)].second)].push_back({a, weight * weight});
    }
  }
  CutGraph g;
  for (int a = 0; a < n; ++a) {
    g.size.push_back(1);
    for (const auto& [b, weight] : rows[at(a)]) {
      g.to.push_back(b);
      g.weight.push_back(weight);
    }
    g.first.push_back(static_cast<int>(g.to.size()));
  }
  Random random(static_cast<std::uint64_t>(n));
  const Sides side = bisect(g, {n / 2, n / 2}, random);
  std::pair<Nodes, Nodes> halves;
  for (int a = 0; a < n; ++a) (side[at(a)] == side[0] ? halves.first : halves.second).push_back(nodes[at(a)]);
  return halves;
}

Model::Pair Domains::between(int domain, int other) const { return average(domains_[at(domain)], domains_[at(other)]); }

Model::Pair Domains::average(const Domain& a, const Domain& b) const {
  Model::Pair sum{0, 0};
  const int ka = std::min(a.size(), 3);
  const int kb = std::min(b.size(), 3);
  for (int i = 0; i < ka; ++i) {
    const int p = order_[at(a.begin + (2 * i + 1) * a.size() / (2 * ka))];
    for (int j = 0; j < kb; ++j) {
      const int q = order_[at(b.begin + (2 * j + 1) * b.size() / (2 * kb))];
      if (p == q) continue;
      const Model::Pair one = model_.between(p, q);
      sum.per_message += one.per_message;
      sum.per_byte += one.per_byte;
    }
  }
  const auto pairs = static_cast<float>(ka * kb);
  return {sum.per_message / pairs, sum.per_byte / pairs};
}

Model::Pair Domains::within(int domain) const {
  const Domain& d = domains_[at(domain)];
  if (d.left < 0)
    return d.size() < 2 ? Model::Pair{0, 0} : model_.between(order_[at(d.begin)], order_[at(d.begin + 1)]);
  return between(d.left, d.right);
}

}  // namespace antiphon::mapping
