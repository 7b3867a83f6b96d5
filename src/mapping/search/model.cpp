// SPDX-License-Identifier: Apache-2.0
#include "mapping/search/model.hpp"

#include <algorithm>
#include <map>

#include "antiphon/index.hpp"

namespace antiphon::mapping {

namespace {

constexpr double microseconds = 1e6;
/// Up to this many slots, one table of all pairs is faster than looking up nodes.
constexpr int max_full_slots = 768;
/// Beyond this many nodes, distances are computed from the switches each time.
constexpr int max_table_nodes = 6000;

}  // namespace

Model::Model(const Task& task)
    : task_(&task), ranks_(task.ranks()), slots_(task.slots().count()), pinned_(!task.constraints().pins.empty()) {
  read_traffic();
  read_machine();
}

void Model::read_traffic() {
  const TrafficGraph& g = task_->traffic();
  // Each row of the sum merges two sorted rows: one of the transposed graph and one of the graph itself.
  std::vector<std::int64_t> in_first(at(ranks_) + 1, 0);
  for (const int to : g.to) ++in_first[at(to) + 1];
  for (int r = 0; r < ranks_; ++r) in_first[at(r) + 1] += in_first[at(r)];
  std::vector<Edge> in(g.to.size());
  std::vector<std::int64_t> next(in_first.begin(), in_first.end() - 1);
  for (int r = 0; r < ranks_; ++r) {
    for (auto e = static_cast<std::size_t>(g.first[at(r)]); e < static_cast<std::size_t>(g.first[at(r) + 1]); ++e) {
      in[static_cast<std::size_t>(next[at(g.to[e])]++)] = {r, static_cast<float>(g.bytes[e]),
                                                           static_cast<float>(g.messages[e])};
    }
  }
  first_.push_back(0);
  edges_.reserve(g.to.size() + g.to.size() / 4);
  for (int r = 0; r < ranks_; ++r) {
    auto e = static_cast<std::size_t>(g.first[at(r)]);
    const auto end = static_cast<std::size_t>(g.first[at(r) + 1]);
    auto i = static_cast<std::size_t>(in_first[at(r)]);
    const auto in_end = static_cast<std::size_t>(in_first[at(r) + 1]);
    while (e < end || i < in_end) {
      const int out_to = e < end ? g.to[e] : ranks_;
      const int in_to = i < in_end ? in[i].to : ranks_;
      Edge sum{std::min(out_to, in_to), 0, 0};
      if (out_to == sum.to) {
        sum.bytes += static_cast<float>(g.bytes[e]);
        sum.messages += static_cast<float>(g.messages[e++]);
      }
      if (in_to == sum.to) {
        sum.bytes += in[i].bytes;
        sum.messages += in[i++].messages;
      }
      edges_.push_back(sum);
    }
    first_.push_back(static_cast<std::int64_t>(edges_.size()));
  }
  const double messages = g.total_messages();
  mean_bytes_ = static_cast<float>(messages > 0 ? g.total_bytes() / messages : g.total_bytes());
}

/// The mean of both directions, because an edge holds the traffic of both.
Model::Pair Model::both_ways(int slot, int other) const {
  const Distance& there = task_->distance(slot, other);
  const Distance& back = task_->distance(other, slot);
  return {static_cast<float>((there.latency_s + back.latency_s) / 2 * microseconds),
          static_cast<float>((there.seconds_per_byte + back.seconds_per_byte) / 2 * microseconds)};
}

Model::Pair Model::far(int node, int other) const { return both_ways(first_slot(node), first_slot(other)); }

void Model::read_machine() {
  const Slots& slots = task_->slots();
  node_ = slots.node;
  first_slot_ = slots.first;
  // If cores of the same two nodes differ in distance, the table of all slots is needed.
  full_ = slots_ <= max_full_slots || !task_->machine().between_cores.empty();
  const int nodes_count = nodes();
  if (full_) {
    table_.resize(at(slots_) * at(slots_));
    for (int p = 0; p < slots_; ++p) {
      for (int q = p + 1; q < slots_; ++q)
        table_[at(p) * at(slots_) + at(q)] = table_[at(q) * at(slots_) + at(p)] = both_ways(p, q);
    }
  } else {
    read_insides();
    if (nodes_count <= max_table_nodes) {
      table_.resize(at(nodes_count) * at(nodes_count));
      for (int a = 0; a < nodes_count; ++a) {
        if (slots_of(a) == 0) continue;
        for (int b = a + 1; b < nodes_count; ++b) {
          if (slots_of(b) > 0)
            table_[at(a) * at(nodes_count) + at(b)] = table_[at(b) * at(nodes_count) + at(a)] = far(a, b);
        }
      }
    }
  }
  float least = 1e30F;
  float most = 0;
  for (int k = 0; k < std::min(4 * nodes_count, 20000) && nodes_count > 1; ++k) {
    const int a = k % nodes_count;
    const int b = (a + 1 + (k / nodes_count) * (nodes_count / 3 + 1)) % nodes_count;
    if (a == b || slots_of(a) == 0 || slots_of(b) == 0) continue;
    least = std::min(least, typical_nodes(a, b));
    most = std::max(most, typical_nodes(a, b));
  }
  uniform_network_ = most <= least * 1.0001F;
}

void Model::read_insides() {
  std::map<std::pair<int, int>, int> known;
  for (int a = 0; a < nodes(); ++a) {
    const int size = slots_of(a);
    const auto [it, fresh] =
        known.try_emplace({task_->machine().nodes[at(a)].kind, size}, static_cast<int>(insides_.size()));
    inside_.push_back(it->second);
    if (!fresh) continue;
    Inside in{size, std::vector<Pair>(at(size) * at(size))};
    for (int c = 0; c < size; ++c) {
      for (int d = 0; d < size; ++d) {
        if (c != d) in.table[at(c) * at(size) + at(d)] = both_ways(first_slot(a) + c, first_slot(a) + d);
      }
    }
    insides_.push_back(std::move(in));
  }
}

bool Model::pin_allows(int rank, int slot) const {
  const Pin* pin = task_->pin_of(rank);
  return pin == nullptr || (node(slot) == pin->node && (pin->core < 0 || task_->slots().core[at(slot)] == pin->core));
}

double Model::total(const Placement& slot_of) const { return sampled(slot_of, 1); }

double Model::sampled(const Placement& slot_of, int step) const {
  double sum = 0;
  for (int r = 0; r < ranks_; r += step) {
    float row = 0;
    for (const Edge* e = begin(r); e != end(r); ++e) row += cost(between(slot_of[at(r)], slot_of[at(e->to)]), *e);
    sum += static_cast<double>(row);
  }
  return sum / 2 * step;
}

Model::Placement Model::placement(const Assignment& assignment) const {
  Placement slot_of = assignment.slot_of_rank;
  std::vector<char> taken(at(slots_));
  for (const int slot : slot_of) taken[at(slot)] = 1;
  for (int slot = 0; slot < slots_; ++slot) {
    if (taken[at(slot)] == 0) slot_of.push_back(slot);
  }
  return slot_of;
}

Assignment Model::assignment(const Placement& placement) const {
  return {{placement.begin(), placement.begin() + ranks_}};
}

}  // namespace antiphon::mapping
