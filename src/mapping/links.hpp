// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "antiphon/mapping.hpp"

namespace antiphon::mapping {

/// The links of a machine by number: 2 · node is the port out of a node, 2 · node + 1 the port into it. Then follow the
/// links up and down from each switch, or 2 · dimensions links per node on a torus.
class Links {
 public:
  explicit Links(const Machine& machine);

  /// Adds bytes from one node to another to every link that they cross.
  void add(int node, int other, double bytes) {
    each(node, other, [&](int link) { bytes_[static_cast<std::size_t>(link)] += bytes; });
  }
  /// Calls visit(link) for every link between two different nodes.
  template <class Visit>
  void each(int node, int other, Visit visit) const {
    if (machine_.torus) return along_torus(node, other, visit);
    visit(2 * node);
    visit(2 * other + 1);
    int a = machine_.nodes[static_cast<std::size_t>(node)].switch_index;
    int b = machine_.nodes[static_cast<std::size_t>(other)].switch_index;
    const int ports = 2 * machine_.node_count();
    while (a != b) {
      if (a > b) {
        visit(ports + 2 * a);
        a = machine_.switches[static_cast<std::size_t>(a)].parent;
      } else {
        visit(ports + 2 * b + 1);
        b = machine_.switches[static_cast<std::size_t>(b)].parent;
      }
    }
  }
  [[nodiscard]] int count() const { return static_cast<int>(bytes_.size()); }
  [[nodiscard]] double bytes_per_s(int link) const { return rates_[static_cast<std::size_t>(link)]; }
  [[nodiscard]] std::string name(int link) const;
  /// Returns the link that takes longest, or nothing if no rate is known or no link has traffic.
  [[nodiscard]] std::optional<LinkLoad> busiest() const;
  /// Returns the links with traffic: the longest time first, those of unknown rate last.
  [[nodiscard]] std::vector<LinkLoad> loaded() const;

 private:
  template <class Visit>
  void along_torus(int node, int other, Visit visit) const {
    const auto& dims = machine_.torus->dims;
    const int axes = static_cast<int>(dims.size());
    int stride = machine_.node_count();
    int here = node;
    for (int axis = 0; axis < axes; ++axis) {
      const int d = dims[static_cast<std::size_t>(axis)];
      stride /= d;
      int x = here / stride % d;
      const int target = other / stride % d;
      const int ahead = (target - x + d) % d;
      const bool up = ahead <= d / 2;
      for (int left = up ? ahead : d - ahead; left > 0; --left) {
        visit((here * axes + axis) * 2 + (up ? 0 : 1));
        const int next = (x + (up ? 1 : d - 1)) % d;
        here += (next - x) * stride;
        x = next;
      }
    }
  }

  const Machine& machine_;
  std::vector<double> rates_;
  std::vector<double> bytes_;
};

}  // namespace antiphon::mapping
