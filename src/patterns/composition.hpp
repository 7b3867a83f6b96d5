// SPDX-License-Identifier: Apache-2.0
// Composes schedules for several ranks a node out of algorithms that know of no nodes: stages between nodes and stages
// within each node, joined piece by piece by what they read and write.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "antiphon/problem.hpp"
#include "patterns/byte_uses.hpp"

namespace antiphon {

/// One place's part in a collective of some places by an algorithm, and where it finds its data in the memory of the
/// whole schedule.
struct Stage {
  Collective collective = Collective::barrier;
  std::string_view algorithm;
  std::span<const int> members;  ///< places
  int root = 0;                  ///< index into the members
  Range input{}, output{};
  /// Of collectives whose blocks differ, in place of input or output: each member's block. Where this place does not
  /// have them, only their lengths matter.
  std::vector<Range> sent{}, received{};
  /// How messages are cut; nothing: as the whole problem's parameters say.
  std::optional<Cut> cut{};
};

/// Joins stages to one schedule. An operation waits for those of earlier stages that touch the same bytes: piece by
/// piece where both have the same pieces, else for all of them.
class Composition {
 public:
  explicit Composition(const Problem& p);

  /// Add a stage among ranks of different nodes, or of one node. All ranks of a node add the same stages within it in
  /// the same order, whether they are members or not, because the place in that order keeps messages apart. Of the
  /// whole problem's parameters, "segment_bytes" and "window" say how messages are cut, "inner" and "radix" the width
  /// of trees within and between nodes.
  void between_nodes(const Stage& stage) { add(stage, false); }
  void within_node(const Stage& stage) { add(stage, true); }

  struct Copy {
    Range from, to;
  };
  /// Adds copies one after the other; those of neighbours to neighbours are one.
  void copy(const std::vector<Copy>& copies);

  Range scratch(std::int64_t bytes) { return s_.scratch(bytes); }
  Schedule take() { return std::move(s_); }

 private:
  void add(const Stage& stage, bool within);
  [[nodiscard]] Problem problem_of(const Stage& stage, int index, bool within) const;
  [[nodiscard]] Range placed(const Stage& stage, const Range& scratch, const Range& range) const;
  /// Returns the range in the memory that input and output share in place.
  [[nodiscard]] Range shared(Range range) const;
  [[nodiscard]] bool same(const Range& a, const Range& b) const;
  void wait_for_earlier(const Op& op, std::vector<Dep>& deps) const;
  [[nodiscard]] Dep after(OpId earlier, const Op& op) const;
  void note_uses(std::size_t first);
  void note_ends(std::size_t first);

  const Problem& p_;
  Alias alias_;
  Schedule s_;
  ByteUses uses_;
  std::vector<int> turn_;   ///< by operation: which list of copies it belongs to; −1: none
  std::vector<OpId> ends_;  ///< of a barrier: what the stages so far end with
  int turns_ = 0;
  int stages_within_ = 0;
};

/// Tells whether an algorithm can do a collective among one place of each group, alike on all ranks.
bool supports_stage(const Problem& p, Collective collective, std::string_view algorithm);

}  // namespace antiphon
