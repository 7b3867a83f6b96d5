// SPDX-License-Identifier: Apache-2.0
#include "patterns/levels.hpp"

#include <algorithm>
#include <numeric>

#include "antiphon/error.hpp"

namespace antiphon {

std::vector<int> Run::places() const {
  std::vector<int> list(static_cast<std::size_t>(size()));
  std::iota(list.begin(), list.end(), first);
  return list;
}

Levels::Levels(const Problem& p, std::int64_t lanes) : place_(p.rank), root_(p.root) {
  int smallest = p.size;
  for (const int size : p.node_sizes) {
    const Run run{first_.back(), first_.back() + size};
    const int index = nodes();
    if (run.holds(p.rank)) own_node_ = index;
    if (run.holds(p.root)) root_node_ = index;
    first_.push_back(run.last);
    smallest = std::min(smallest, size);
  }
  if (first_.back() != p.size) throw InvalidArgument("the nodes do not hold all ranks");
  lanes_ = static_cast<int>(std::min<std::int64_t>(lanes, smallest));
}

Run Levels::lane(int node, int lane) const {
  const Run all = this->node(node);
  return {all.first + all.size() * lane / lanes_, all.first + all.size() * (lane + 1) / lanes_};
}

int Levels::leader(int node, int lane) const {
  const Run run = this->lane(node, lane);
  return run.holds(root_) ? root_ : run.first;
}

std::vector<int> Levels::leaders(int lane) const {
  std::vector<int> list;
  for (int node = 0; node < nodes(); ++node) list.push_back(leader(node, lane));
  return list;
}

bool has_levels(const Problem& p) {
  return p.node_sizes.size() > 1 && p.node_sizes.size() < static_cast<std::size_t>(p.size);
}

}  // namespace antiphon
