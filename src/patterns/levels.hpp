// SPDX-License-Identifier: Apache-2.0
// The nodes of a problem's places, and who speaks for them.
#pragma once

#include <span>
#include <vector>

#include "antiphon/problem.hpp"

namespace antiphon {

/// Consecutive places.
struct Run {
  int first = 0;
  int last = 0;  ///< behind the last one
  [[nodiscard]] int size() const { return last - first; }
  [[nodiscard]] bool holds(int place) const { return first <= place && place < last; }
  [[nodiscard]] std::vector<int> places() const;
};

/// The places of a problem by node, as Problem::node_sizes says, and the places of each node in as many lanes: runs of
/// about the same length, each with a leader. Switches serve as nodes where each node holds a single rank.
class Levels {
 public:
  /// There are no more lanes than the smallest node has places.
  explicit Levels(const Problem& p, std::int64_t lanes = 1);
  /// By switch, as Problem::switch_sizes says.
  static Levels of_switches(const Problem& p, std::int64_t lanes = 1) { return {p, p.switch_sizes, lanes}; }

  [[nodiscard]] int nodes() const { return static_cast<int>(first_.size()) - 1; }
  [[nodiscard]] int lanes() const { return lanes_; }
  [[nodiscard]] Run node(int node) const { return {first_[at(node)], first_[at(node + 1)]}; }
  [[nodiscard]] Run lane(int node, int lane) const;
  /// The root leads the lane that it is in, the first place any other.
  [[nodiscard]] int leader(int node, int lane = 0) const;
  [[nodiscard]] std::vector<int> leaders(int lane = 0) const;

  [[nodiscard]] int own_node() const { return own_node_; }
  [[nodiscard]] int root_node() const { return root_node_; }
  /// This place's node, its leader's index in it, and whether this place is the leader.
  [[nodiscard]] Run own() const { return node(own_node_); }
  [[nodiscard]] int leader_index(int lane = 0) const { return leader(own_node_, lane) - own().first; }
  [[nodiscard]] bool leads(int lane = 0) const { return leader(own_node_, lane) == place_; }

 private:
  Levels(const Problem& p, const std::vector<int>& sizes, std::int64_t lanes);
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  std::vector<int> first_{0};  ///< by node, and behind the last one
  int place_, root_;
  int lanes_ = 1;
  int own_node_ = 0, root_node_ = 0;
};

/// Tells whether there are two levels: several nodes, of which some hold several ranks.
bool has_levels(const Problem& p);
/// Tells whether there are several switches, of which some hold several ranks.
bool has_switches(const Problem& p);
/// Returns how many of a problem's places each switch has among these, which are in order; empty with one switch.
std::vector<int> switch_sizes_among(const Problem& p, std::span<const int> places);

}  // namespace antiphon
