// SPDX-License-Identifier: Apache-2.0
// Composes schedules for several ranks a node out of algorithms that know of no nodes: stages among the leaders of all
// nodes and stages within each node, joined piece by piece.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "antiphon/problem.hpp"

namespace antiphon {

/// The places of a problem by node, seen from one of them.
struct Levels {
  std::vector<int> node;     ///< the places of this place's node
  std::vector<int> leaders;  ///< one place of each node; of the root's node it is the root
  int own_node = 0;          ///< index into leaders
  int root_node = 0;
  int own_index = 0;     ///< of this place in its node
  int leader_index = 0;  ///< of the leader in its node
  [[nodiscard]] bool leads() const { return own_index == leader_index; }
};

/// Returns the levels that Problem::node_sizes says.
Levels levels_of(const Problem& p);

/// Tells whether there are two levels: several nodes, of which some hold several ranks.
bool has_levels(const Problem& p);

/// Where a stage finds its data in the memory of the whole schedule.
struct StageMemory {
  Range input, output;
  bool same = false;  ///< input and output are the same memory
};

/// What a stage does: a collective of some places by the named algorithm, which cuts and keeps pieces under way as the
/// whole problem's parameters "segment_bytes" and "window" say.
struct StageCall {
  Collective collective = Collective::barrier;
  std::string_view algorithm;
  int root = 0;  ///< index into the members
};

/// Joins stages to one schedule.
class Composition {
 public:
  explicit Composition(const Problem& p) : p_(p) {}

  /// Adds a member's part in a collective of these places. An operation waits for those of earlier stages that touch
  /// the same bytes: piece by piece where both have the same pieces, else for all of them. The place of a stage among
  /// all, which keeps messages apart, is the same on all ranks, also on those without a part in it.
  void add(int stage, const StageCall& call, std::span<const int> members, int index, const StageMemory& memory);
  Range scratch(std::int64_t bytes) { return s_.scratch(bytes); }
  Schedule take() { return std::move(s_); }

 private:
  [[nodiscard]] bool overlap(const Range& a, const Range& b) const;
  void wait_for_earlier(const Op& op, std::size_t earlier, std::vector<Dep>& deps) const;

  const Problem& p_;
  Schedule s_;
};

/// Tells whether a stage's algorithm can do it among so many members, alike on all ranks.
bool supports_stage(const Problem& p, const StageCall& call, int members);

}  // namespace antiphon
