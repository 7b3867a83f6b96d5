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

namespace {

const std::vector<int>& groups_of(const Problem& p) {
  return has_switches(p) && !has_levels(p) ? p.switch_sizes : p.node_sizes;
}

}  // namespace

Levels::Levels(const Problem& p, std::int64_t lanes) : Levels(p, groups_of(p), lanes) {}

Levels::Levels(const Problem& p, const std::vector<int>& sizes, std::int64_t lanes) : place_(p.rank), root_(p.root) {
  int smallest = p.size;
  for (const int size : sizes) {
    const Run run{first_.back(), first_.back() + size};
    const int index = nodes();
    if (run.holds(p.rank)) own_node_ = index;
    if (run.holds(p.root)) root_node_ = index;
    first_.push_back(run.last);
    smallest = std::min(smallest, size);
  }
  if (first_.back() != p.size) throw InvalidArgument("the nodes or switches do not hold all ranks");
  lanes_ = static_cast<int>(std::min<std::int64_t>(lanes, smallest));
}

Run Levels::lane(int node, int lane) const {
  const Run all = this->node(node);
  const auto begin = [&](std::int64_t of) { return all.first + static_cast<int>(of * all.size() / lanes_); };
  return {begin(lane), begin(lane + 1)};
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

namespace {

bool groups_some(const std::vector<int>& sizes, int places) {
  return sizes.size() > 1 && sizes.size() < static_cast<std::size_t>(places);
}

}  // namespace

bool has_levels(const Problem& p) { return groups_some(p.node_sizes, p.size); }
bool has_switches(const Problem& p) { return groups_some(p.switch_sizes, p.size); }

std::vector<int> switch_sizes_among(const Problem& p, std::span<const int> places) {
  std::vector<int> sizes;
  int last = 0;
  auto next = places.begin();
  for (const int size : p.switch_sizes) {
    last += size;
    const auto first = next;
    while (next != places.end() && *next < last) ++next;
    if (next != first) sizes.push_back(static_cast<int>(next - first));
  }
  return sizes.size() > 1 ? sizes : std::vector<int>{};
}

}  // namespace antiphon
