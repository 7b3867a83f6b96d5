// SPDX-License-Identifier: Apache-2.0
#include "patterns/levels.hpp"

#include <algorithm>
#include <numeric>

#include "antiphon/algorithm.hpp"
#include "antiphon/error.hpp"
#include "antiphon/index.hpp"

namespace antiphon {

namespace {

/// Algorithms use fewer tags than these.
constexpr int tags_of_a_stage = 16;

const Algorithm& algorithm_of(const StageCall& call) {
  const Algorithm* found = find_algorithm(call.collective, call.algorithm);
  if (found == nullptr)
    throw InvalidArgument(std::string(name(call.collective)) + " has no algorithm " + std::string(call.algorithm));
  return *found;
}

Problem problem_of_stage(const Problem& p, const StageCall& call, int index, int members) {
  Problem stage{call.collective, index, members, call.root, p.bytes, p.element_bytes, p.commutative};
  const Algorithm& algorithm = algorithm_of(call);
  stage.parameters = resolve_parameters(algorithm, {});
  for (std::size_t i = 0; i < algorithm.parameters.size(); ++i) {
    ParameterValue& parameter = stage.parameters[i];
    if (algorithm.parameters[i].role == Role::piece) parameter.value = p.parameter("segment_bytes");
    if (parameter.name == "window") parameter.value = p.parameter("window");
  }
  return stage;
}

/// Returns the part of a range within the memory that a stage takes for its input or output.
Range within(const Range& space, const Range& range) {
  return {space.space, space.offset_bytes + range.offset_bytes, range.bytes};
}

bool writes(const Op& op) { return op.kind != OpKind::send && op.to.bytes > 0; }
bool reads(const Op& op) { return op.kind != OpKind::recv && op.from.bytes > 0; }

}  // namespace

Levels levels_of(const Problem& p) {
  Levels levels;
  int first = 0;
  for (const int size : p.node_sizes) {
    const auto holds = [&](int place) { return place >= first && place < first + size; };
    const int leader = holds(p.root) ? p.root : first;
    const auto index = static_cast<int>(levels.leaders.size());
    if (holds(p.root)) levels.root_node = index;
    if (holds(p.rank)) {
      levels.node.resize(at(size));
      std::iota(levels.node.begin(), levels.node.end(), first);
      levels.own_node = index;
      levels.own_index = p.rank - first;
      levels.leader_index = leader - first;
    }
    levels.leaders.push_back(leader);
    first += size;
  }
  if (first != p.size) throw InvalidArgument("the nodes do not hold all ranks");
  return levels;
}

bool has_levels(const Problem& p) {
  return p.node_sizes.size() > 1 && p.node_sizes.size() < static_cast<std::size_t>(p.size);
}

bool supports_stage(const Problem& p, const StageCall& call, int members) {
  return supports(algorithm_of(call), problem_of_stage(p, call, 0, members));
}

void Composition::add(int stage, const StageCall& call, std::span<const int> members, int index,
                      const StageMemory& memory) {
  if (members.size() < 2) return;
  Problem problem = problem_of_stage(p_, call, index, static_cast<int>(members.size()));
  problem.in_place = memory.same;
  const Schedule part = algorithm_of(call).build(problem);
  const Range scratch = s_.scratch(part.scratch_bytes());
  const std::size_t earlier = s_.ops().size();
  const auto placed = [&](const Range& range) {
    return within(range.space == Space::input    ? memory.input
                  : range.space == Space::output ? memory.output
                                                 : scratch,
                  range);
  };
  for (Op op : part.ops()) {
    std::vector<Dep> deps;
    for (Dep dep : part.deps(op)) {
      if (dep.op != no_op) dep.op += static_cast<OpId>(earlier);
      deps.push_back(dep);
    }
    if (op.peer >= 0) op.peer = members[at(op.peer)];
    if (op.is_message()) op.tag += stage * tags_of_a_stage;
    if (op.kind != OpKind::recv) op.from = placed(op.from);
    if (op.kind == OpKind::recv || !op.is_message()) op.to = placed(op.to);
    wait_for_earlier(op, earlier, deps);
    s_.add(op, deps);
  }
}

bool Composition::overlap(const Range& a, const Range& b) const {
  const auto same_memory = [&] {
    const bool both_outside = a.space != Space::scratch && b.space != Space::scratch;
    return a.space == b.space || (p_.in_place && both_outside);
  };
  return same_memory() && a.offset_bytes < b.offset_bytes + b.bytes && b.offset_bytes < a.offset_bytes + a.bytes;
}

void Composition::wait_for_earlier(const Op& op, std::size_t earlier, std::vector<Dep>& deps) const {
  for (std::size_t i = 0; i < earlier; ++i) {
    const Op& before = s_.ops()[i];
    bool conflict = false;
    bool alike = before.cut.piece_bytes == op.cut.piece_bytes;
    const auto meet = [&](const Range& a, const Range& b) {
      if (!overlap(a, b)) return;
      conflict = true;
      alike = alike && a.offset_bytes == b.offset_bytes && a.bytes == b.bytes;
    };
    if (writes(before) && reads(op)) meet(before.to, op.from);
    if (writes(before) && writes(op)) meet(before.to, op.to);
    if (reads(before) && writes(op)) meet(before.from, op.to);
    if (!conflict) continue;
    const auto id = static_cast<OpId>(i);
    deps.push_back(alike ? pipelined(id) : Dep(id));
  }
}

}  // namespace antiphon
