// SPDX-License-Identifier: Apache-2.0
#include "patterns/composition.hpp"

#include <algorithm>

#include "antiphon/algorithm.hpp"
#include "antiphon/error.hpp"
#include "antiphon/index.hpp"
#include "patterns/levels.hpp"

namespace antiphon {

namespace {

/// Algorithms that serve within nodes use fewer tags than these.
constexpr int tags_of_a_stage = 2;

const Algorithm& algorithm_of(Collective collective, std::string_view wanted) {
  const Algorithm* found = find_algorithm(collective, wanted);
  if (found == nullptr)
    throw InvalidArgument(std::string(name(collective)) + " has no algorithm " + std::string(wanted));
  return *found;
}

/// Returns the algorithm's parameters, where the whole problem has none for them by default. Within a node there is no
/// port to overrun, so nothing is asked for and all are served at once.
Parameters parameters_of(const Problem& p, const Algorithm& algorithm, bool within,
                         const std::optional<Cut>& cut = {}) {
  Parameters parameters = resolve_parameters(algorithm, {});
  for (std::size_t i = 0; i < algorithm.parameters.size(); ++i) {
    const Parameter& known = algorithm.parameters[i];
    std::int64_t& value = parameters[i].value;
    for (const auto& [role, of_whole] : {std::pair{Role::piece, "segment_bytes"},
                                         {Role::ahead, "window"},
                                         {Role::fanout, within ? "inner" : "radix"}}) {
      const auto given = std::find_if(p.parameters.begin(), p.parameters.end(),
                                      [name = of_whole](const ParameterValue& v) { return v.name == name; });
      if (known.role == role && given != p.parameters.end()) value = given->value;
    }
    if (cut && known.role == Role::piece) value = cut->piece_bytes;
    if (cut && known.role == Role::ahead) value = cut->window;
    if (within && (known.role == Role::at_once || known.role == Role::border)) value = known.max;
  }
  return parameters;
}

/// Returns the memory in which the blocks' offsets count: it begins where the first block lies.
Range memory_of(const std::vector<Range>& blocks) {
  Range memory;
  bool found = false;
  for (const Range& block : blocks) {
    if (block.bytes == 0) continue;
    memory.space = block.space;
    memory.offset_bytes = found ? std::min(memory.offset_bytes, block.offset_bytes) : block.offset_bytes;
    found = true;
  }
  return memory;
}

void set_blocks(const std::vector<Range>& blocks, std::vector<std::int64_t>& sizes,
                std::vector<std::int64_t>& offsets) {
  const std::int64_t begin = memory_of(blocks).offset_bytes;
  for (const Range& block : blocks) {
    sizes.push_back(block.bytes);
    offsets.push_back(std::max<std::int64_t>(block.offset_bytes - begin, 0));
  }
}

/// Returns the part of a range within the memory that a stage takes for its input or output.
Range part_of(const Range& memory, const Range& range) {
  return {memory.space, memory.offset_bytes + range.offset_bytes, range.bytes};
}

bool writes(const Op& op) { return op.kind != OpKind::send && op.to.bytes > 0; }
bool reads(const Op& op) { return op.kind != OpKind::recv && op.from.bytes > 0; }

bool overlap(const Range& a, const Range& b) {
  return a.space == b.space && a.offset_bytes < b.offset_bytes + b.bytes && b.offset_bytes < a.offset_bytes + a.bytes;
}

}  // namespace

Composition::Composition(const Problem& p) : p_(p), alias_(alias_of(p)) {}

Problem Composition::problem_of(const Stage& stage, int index, bool within) const {
  const auto members = static_cast<int>(stage.members.size());
  Problem problem{stage.collective, index, members, stage.root, 0, p_.element_bytes, p_.commutative};
  problem.parameters = parameters_of(p_, algorithm_of(stage.collective, stage.algorithm), within, stage.cut);
  if (!within) problem.switch_sizes = switch_sizes_among(p_, stage.members);
  set_blocks(stage.sent, problem.send_bytes, problem.send_offsets);
  set_blocks(stage.received, problem.recv_bytes, problem.recv_offsets);
  const std::size_t own = at(index);
  const bool scatters = stage.collective == Collective::scatterv;
  const std::vector<Range>& blocks = scatters ? stage.sent : stage.received;
  const Range& whole = is_reduction(stage.collective) ? stage.input : stage.output;
  if (stage.collective != Collective::alltoallv) problem.bytes = blocks.empty() ? whole.bytes : blocks[own].bytes;
  if (stage.collective == Collective::alltoall) problem.bytes /= members;
  const Range& first = scatters ? stage.sent[own] : stage.input;
  const Range& second = stage.received.empty() ? stage.output : stage.received[own];
  const bool both_here = !has_root(stage.collective) || index == stage.root;
  const bool separate = stage.collective == Collective::reduce_scatter || stage.collective == Collective::alltoallv;
  problem.in_place = both_here && !separate && same(first, second);
  return problem;
}

void Composition::add(const Stage& stage, bool within) {
  const int first_tag = within ? tags_of_a_stage * stages_within_++ : 0;
  const auto self = std::find(stage.members.begin(), stage.members.end(), p_.rank);
  if (self == stage.members.end()) return;
  const Problem problem = problem_of(stage, static_cast<int>(self - stage.members.begin()), within);
  const Schedule part = algorithm_of(stage.collective, stage.algorithm).build(problem);
  const Range scratch = s_.scratch(part.scratch_bytes());
  const std::size_t first = s_.ops().size();
  std::vector<Dep> deps;
  for (Op op : part.ops()) {
    deps.clear();
    for (Dep dep : part.deps(op)) {
      dep.op += static_cast<OpId>(first);
      deps.push_back(dep);
    }
    if (op.peer >= 0) op.peer = stage.members[at(op.peer)];
    if (op.is_message()) op.tag += first_tag;
    if (op.kind != OpKind::recv) op.from = placed(stage, scratch, op.from);
    if (op.kind == OpKind::recv || !op.is_message()) op.to = placed(stage, scratch, op.to);
    wait_for_earlier(op, deps);
    s_.add(op, deps);
  }
  turn_.resize(s_.ops().size(), -1);
  note_uses(first);
  if (p_.collective == Collective::barrier) note_ends(first);
}

Range Composition::placed(const Stage& stage, const Range& scratch, const Range& range) const {
  const bool listed = stage.collective == Collective::reduce_scatter;  // its list describes its input
  switch (range.space) {
    case Space::input:
      if (listed) return part_of(memory_of(stage.received), range);
      return part_of(stage.sent.empty() ? stage.input : memory_of(stage.sent), range);
    case Space::output:
      return part_of(stage.received.empty() || listed ? stage.output : memory_of(stage.received), range);
    case Space::scratch: break;
  }
  return part_of(scratch, range);
}

void Composition::copy(const std::vector<Copy>& copies) {
  const std::size_t first = s_.ops().size();
  OpId last = no_op;
  for (std::size_t i = 0; i < copies.size();) {
    Copy joined = copies[i];
    const auto follows = [](const Range& a, const Range& b) {
      return a.space == b.space && b.offset_bytes == a.offset_bytes + a.bytes;
    };
    for (++i; i < copies.size() && follows(joined.from, copies[i].from) && follows(joined.to, copies[i].to); ++i) {
      joined.from.bytes += copies[i].from.bytes;
      joined.to.bytes += copies[i].to.bytes;
    }
    if (joined.from.bytes == 0 || joined.from == joined.to) continue;
    const Op op{.kind = OpKind::copy, .from = joined.from, .to = joined.to};
    std::vector<Dep> deps{Dep(last)};
    wait_for_earlier(op, deps);
    last = s_.add(op, deps);
  }
  turn_.resize(s_.ops().size(), turns_++);
  note_uses(first);
}

Range Composition::shared(Range range) const {
  if (alias_.offset_bytes < 0) return range;
  const Space inner = alias_.output_in_input ? Space::output : Space::input;
  if (range.space != inner) return range;
  range.space = alias_.output_in_input ? Space::input : Space::output;
  range.offset_bytes += alias_.offset_bytes;
  return range;
}

bool Composition::same(const Range& a, const Range& b) const { return a.bytes > 0 && shared(a) == shared(b); }

void Composition::note_uses(std::size_t first) {
  for (std::size_t i = first; i < s_.ops().size(); ++i) {
    const Op& op = s_.ops()[i];
    if (reads(op)) uses_.read(shared(op.from), static_cast<OpId>(i));
    if (writes(op)) uses_.write(shared(op.to), static_cast<OpId>(i));
  }
}

void Composition::note_ends(std::size_t first) {
  if (first == s_.ops().size()) return;
  std::vector<bool> awaited(s_.ops().size(), false);
  for (std::size_t i = first; i < s_.ops().size(); ++i) {
    for (const Dep& dep : s_.deps(s_.ops()[i])) awaited[dep.op] = true;
  }
  ends_.clear();
  for (std::size_t i = first; i < s_.ops().size(); ++i) {
    if (!awaited[i]) ends_.push_back(static_cast<OpId>(i));
  }
}

void Composition::wait_for_earlier(const Op& op, std::vector<Dep>& deps) const {
  std::vector<OpId> found(ends_);
  if (reads(op)) uses_.before_read(shared(op.from), found);
  if (writes(op)) uses_.before_write(shared(op.to), found);
  // The last copy of a list has waited for all others of the list.
  std::sort(found.begin(), found.end(), std::greater<>());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::vector<int> turns;
  for (const OpId earlier : found) {
    const int turn = turn_[earlier];
    if (turn >= 0 && std::find(turns.begin(), turns.end(), turn) != turns.end()) continue;
    if (turn >= 0) turns.push_back(turn);
    deps.push_back(after(earlier, op));
  }
}

Dep Composition::after(OpId earlier, const Op& op) const {
  const Op& before = s_.ops()[earlier];
  bool alike = before.cut.piece_bytes == op.cut.piece_bytes && before.bytes() > 0;
  const auto meet = [&](const Range& a, const Range& b) {
    const Range x = shared(a);
    const Range y = shared(b);
    if (overlap(x, y) && x != y) alike = false;
  };
  if (writes(before) && reads(op)) meet(before.to, op.from);
  if (writes(before) && writes(op)) meet(before.to, op.to);
  if (reads(before) && writes(op)) meet(before.from, op.to);
  return alike ? pipelined(earlier) : Dep(earlier);
}

bool supports_stage(const Problem& p, Collective collective, std::string_view algorithm) {
  const Algorithm& found = algorithm_of(collective, algorithm);
  const std::vector<int> members = Levels(p).leaders();
  Problem stage{collective, 0, static_cast<int>(members.size()), 0, p.bytes, p.element_bytes, p.commutative};
  stage.parameters = parameters_of(p, found, false);
  stage.switch_sizes = switch_sizes_among(p, members);
  return supports(found, stage);
}

}  // namespace antiphon
