// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "antiphon/mapping.hpp"

namespace antiphon::mapping {

/// A task in the form that search needs: the traffic of both directions is summed, and costs are tables in single
/// precision, in microseconds. Items are the ranks, followed by one empty item for every spare slot; a placement lists
/// slots by item.
class Model {
 public:
  using Placement = std::vector<int>;

  /// An undirected edge as its first rank sees it.
  struct Edge {
    int to;
    float bytes;
    float messages;
  };
  /// An entry of a table: microseconds per message and per byte.
  struct Pair {
    float per_message;
    float per_byte;
  };

  explicit Model(const Task& task);

  [[nodiscard]] const Task& task() const { return *task_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] int slots() const { return slots_; }
  [[nodiscard]] int nodes() const { return static_cast<int>(first_slot_.size()) - 1; }
  [[nodiscard]] int node(int slot) const { return node_[static_cast<std::size_t>(slot)]; }
  [[nodiscard]] int first_slot(int node) const { return first_slot_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] int slots_of(int node) const { return first_slot(node + 1) - first_slot(node); }
  [[nodiscard]] const Edge* begin(int rank) const { return edges_.data() + first_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const Edge* end(int rank) const { return edges_.data() + first_[static_cast<std::size_t>(rank) + 1]; }
  [[nodiscard]] int degree(int item) const { return item < ranks_ ? static_cast<int>(end(item) - begin(item)) : 0; }
  [[nodiscard]] std::size_t edges() const { return edges_.size(); }

  [[nodiscard]] Pair between(int slot, int other) const {
    if (full_)
      return table_[static_cast<std::size_t>(slot) * static_cast<std::size_t>(slots_) +
                    static_cast<std::size_t>(other)];
    const int a = node(slot);
    const int b = node(other);
    if (a != b)
      return table_.empty() ? far(a, b)
                            : table_[static_cast<std::size_t>(a) * static_cast<std::size_t>(nodes()) +
                                     static_cast<std::size_t>(b)];
    const Inside& in = insides_[static_cast<std::size_t>(inside_[static_cast<std::size_t>(a)])];
    return in.table[static_cast<std::size_t>(slot - first_slot(a)) * static_cast<std::size_t>(in.size) +
                    static_cast<std::size_t>(other - first_slot(a))];
  }
  static float cost(const Pair& p, const Edge& e) { return p.per_byte * e.bytes + p.per_message * e.messages; }
  /// Tells whether the item's pin, if it has one, allows the slot.
  [[nodiscard]] bool allowed(int item, int slot) const { return !pinned_ || item >= ranks_ || pin_allows(item, slot); }
  [[nodiscard]] bool pinned() const { return pinned_; }

  /// The change in cost if two items swap their slots.
  [[nodiscard]] float swap_delta(const int* slot_of, int item, int other) const {
    const int p = slot_of[item];
    const int q = slot_of[other];
    float sum = 0;
    if (item < ranks_) sum += move_delta(slot_of, item, p, q, other);
    if (other < ranks_) sum += move_delta(slot_of, other, q, p, item);
    return sum;
  }
  /// The sum of the times of all messages, in microseconds.
  [[nodiscard]] double total(const Placement& slot_of) const;
  /// The same sum over the messages of every `step`-th rank.
  [[nodiscard]] double sampled(const Placement& slot_of, int step) const;
  /// Converts an assignment; empty items get the remaining slots.
  [[nodiscard]] Placement placement(const Assignment& assignment) const;
  [[nodiscard]] Assignment assignment(const Placement& placement) const;
  /// The cost of an average message, by latency and bytes. It serves to build hierarchies.
  [[nodiscard]] float typical(int slot, int other) const {
    const Pair p = between(slot, other);
    return p.per_message + mean_bytes_ * p.per_byte;
  }
  [[nodiscard]] float typical_nodes(int node, int other) const { return typical(first_slot(node), first_slot(other)); }
  /// Tells whether all pairs of nodes are equally far apart, so that the order of nodes does not matter.
  [[nodiscard]] bool uniform_network() const { return uniform_network_; }

 private:
  struct Inside {
    int size = 0;
    std::vector<Pair> table;
  };

  [[nodiscard]] float move_delta(const int* slot_of, int rank, int from, int to, int except) const {
    float sum = 0;
    for (const Edge* e = begin(rank); e != end(rank); ++e) {
      if (e->to == except) continue;
      const int there = slot_of[e->to];
      const Pair was = between(from, there);
      const Pair is = between(to, there);
      sum += (is.per_byte - was.per_byte) * e->bytes + (is.per_message - was.per_message) * e->messages;
    }
    return sum;
  }
  [[nodiscard]] Pair far(int node, int other) const;
  [[nodiscard]] bool pin_allows(int rank, int slot) const;
  void read_traffic();
  void read_machine();
  void read_insides();
  [[nodiscard]] Pair both_ways(int slot, int other) const;

  const Task* task_;
  int ranks_;
  int slots_;
  float mean_bytes_ = 0;
  bool full_ = false;  ///< the table covers all slots
  bool pinned_ = false;
  bool uniform_network_ = true;
  std::vector<std::int64_t> first_;
  std::vector<Edge> edges_;
  std::vector<int> node_;
  std::vector<int> first_slot_;
  std::vector<Pair> table_;  ///< of all slots, of all nodes, or empty if there are too many
  std::vector<int> inside_;  ///< by node
  std::vector<Inside> insides_;
};

}  // namespace antiphon::mapping
