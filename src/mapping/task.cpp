// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "antiphon/error.hpp"
#include "antiphon/index.hpp"
#include "antiphon/mapping.hpp"
#include "mapping/slot_allocator.hpp"

namespace antiphon::mapping {

namespace {

int slot_count(const Machine& machine, const Constraints& constraints, int node, bool shared) {
  const int all = machine.cores(node) * (shared ? constraints.ranks_per_core : 1);
  return constraints.max_ranks_per_node > 0 ? std::min(all, constraints.max_ranks_per_node) : all;
}

Slots slots_of(const Machine& machine, const Constraints& constraints, bool shared) {
  Slots slots;
  for (int n = 0; n < machine.node_count(); ++n) {
    slots.first.push_back(slots.count());
    for (int s = 0; s < slot_count(machine, constraints, n, shared); ++s) {
      slots.node.push_back(n);
      slots.core.push_back(s % machine.cores(n));
    }
  }
  slots.first.push_back(slots.count());
  return slots;
}

Slots slots_for(int ranks, const Machine& machine, const Constraints& constraints) {
  Slots slots = slots_of(machine, constraints, false);
  if (slots.count() < ranks && constraints.ranks_per_core > 1) slots = slots_of(machine, constraints, true);
  if (slots.count() >= ranks) return slots;
  std::string what = std::to_string(ranks) + " ranks do not fit: " + std::to_string(machine.node_count()) +
                     " nodes with " + std::to_string(machine.cores()) + " cores have " + std::to_string(slots.count()) +
                     " places";
  if (constraints.max_ranks_per_node > 0)
    what += " at most " + std::to_string(constraints.max_ranks_per_node) + " ranks a node";
  throw InvalidArgument(what + "; hint: allow " + std::to_string((ranks + machine.cores() - 1) / machine.cores()) +
                        " ranks a core, or take traffic of fewer ranks");
}

std::vector<int> pins_by_rank(const Constraints& constraints, const Machine& machine, const Slots& slots, int ranks) {
  std::vector<int> by_rank(at(ranks), -1);
  std::vector<int> pinned(machine.nodes.size());
  for (std::size_t i = 0; i < constraints.pins.size(); ++i) {
    const Pin& pin = constraints.pins[i];
    const std::string whose = "pin of rank " + std::to_string(pin.rank) + ": ";
    if (pin.rank < 0 || pin.rank >= ranks)
      throw InvalidArgument(whose + "there are ranks 0 to " + std::to_string(ranks - 1));
    if (pin.node < 0 || pin.node >= machine.node_count())
      throw InvalidArgument(whose + "there is no node " + std::to_string(pin.node));
    if (pin.core >= machine.cores(pin.node)) {
      throw InvalidArgument(whose + "node " + machine.nodes[at(pin.node)].name + " has " +
                            std::to_string(machine.cores(pin.node)) + " cores");
    }
    if (by_rank[at(pin.rank)] >= 0) throw InvalidArgument(whose + "it is pinned twice");
    const int room = slots.first[at(pin.node) + 1] - slots.first[at(pin.node)];
    if (++pinned[at(pin.node)] > room) {
      throw InvalidArgument(whose + "node " + machine.nodes[at(pin.node)].name + " has places for only " +
                            std::to_string(room) + " ranks");
    }
    by_rank[at(pin.rank)] = static_cast<int>(i);
  }
  return by_rank;
}

}  // namespace

std::string_view name(Objective objective) {
  switch (objective) {
    case Objective::messages: return "messages";
    case Objective::time: return "time";
    case Objective::automatic: break;
  }
  return "automatic";
}

Task::Task(TrafficGraph traffic, Machine machine, Constraints constraints, Objective objective)
    : traffic_(std::move(traffic)), machine_(std::move(machine)), constraints_(std::move(constraints)),
      objective_(objective) {
  machine_.check();
  if (constraints_.ranks_per_core < 1) throw InvalidArgument("a core takes at least one rank");
  if (objective_ == Objective::automatic) objective_ = machine_.knows_links() ? Objective::time : Objective::messages;
  slots_ = slots_for(ranks(), machine_, constraints_);
  core_numbers_.push_back(0);
  for (int n = 0; n < machine_.node_count(); ++n) core_numbers_.push_back(core_numbers_.back() + machine_.cores(n));
  pin_of_rank_ = pins_by_rank(constraints_, machine_, slots_, ranks());
  // The counts above do not show whether two ranks are pinned to one core.
  SlotAllocator(*this).pin_all();
}

const Pin* Task::pin_of(int rank) const {
  const int index = pin_of_rank_[at(rank)];
  return index < 0 ? nullptr : &constraints_.pins[at(index)];
}

const Distance& Task::distance(int slot, int other) const {
  const int a = slots_.node[at(slot)];
  const int b = slots_.node[at(other)];
  if (!machine_.between_cores.empty()) {
    const std::size_t cores = static_cast<std::size_t>(core_numbers_.back());
    return machine_.between_cores[at(core_numbers_[at(a)] + slots_.core[at(slot)]) * cores +
                                  at(core_numbers_[at(b)] + slots_.core[at(other)])];
  }
  if (a != b) return machine_.node_distance(a, b);
  return machine_.kinds[at(machine_.nodes[at(a)].kind)].distance(slots_.core[at(slot)], slots_.core[at(other)]);
}

std::optional<std::string> Task::check(const Assignment& assignment) const {
  if (assignment.slot_of_rank.size() != at(ranks())) {
    return "it places " + std::to_string(assignment.slot_of_rank.size()) + " ranks, not " + std::to_string(ranks());
  }
  std::vector<char> used(at(slots_.count()));
  for (int r = 0; r < ranks(); ++r) {
    const int slot = assignment.slot_of_rank[at(r)];
    const std::string whose = "rank " + std::to_string(r) + ": ";
    if (slot < 0 || slot >= slots_.count()) return whose + "there is no slot " + std::to_string(slot);
    if (used[at(slot)]++ != 0) return whose + "slot " + std::to_string(slot) + " is taken";
    const Pin* pin = pin_of(r);
    if (pin == nullptr) continue;
    if (slots_.node[at(slot)] != pin->node) return whose + "it is pinned to node " + std::to_string(pin->node);
    if (pin->core >= 0 && slots_.core[at(slot)] != pin->core)
      return whose + "it is pinned to core " + std::to_string(pin->core);
  }
  return std::nullopt;
}

Assignment assignment_of_nodes(const Task& task, std::span<const int> node_of_rank) {
  if (node_of_rank.size() != at(task.ranks())) {
    throw InvalidArgument("the placement has " + std::to_string(node_of_rank.size()) + " ranks, the traffic " +
                          std::to_string(task.ranks()));
  }
  // A placement made elsewhere need not respect the pins.
  SlotAllocator allocator(task);
  for (int r = 0; r < task.ranks(); ++r) {
    const int node = node_of_rank[at(r)];
    if (node < 0 || node >= task.machine().node_count()) {
      throw InvalidArgument("rank " + std::to_string(r) + ": there is no node " + std::to_string(node));
    }
    if (!allocator.put(r, node)) {
      throw InvalidArgument("rank " + std::to_string(r) + ": node " + task.machine().nodes[at(node)].name + " is full");
    }
  }
  return allocator.assignment();
}

}  // namespace antiphon::mapping
