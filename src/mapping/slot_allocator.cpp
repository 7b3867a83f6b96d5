// SPDX-License-Identifier: Apache-2.0
#include "mapping/slot_allocator.hpp"

#include "antiphon/error.hpp"
#include "antiphon/index.hpp"

namespace antiphon::mapping {

SlotAllocator::SlotAllocator(const Task& task) : task_(task), taken_(at(task.slots().count())) {
  assignment_.slot_of_rank.assign(at(task.ranks()), -1);
  const Slots& slots = task.slots();
  for (std::size_t n = 0; n + 1 < slots.first.size(); ++n) {
    free_.push_back(slots.first[n + 1] - slots.first[n]);
    next_.push_back(slots.first[n]);
  }
}

void SlotAllocator::put_at(int rank, int slot) {
  assignment_.slot_of_rank[at(rank)] = slot;
  taken_[at(slot)] = 1;
  --free_[at(task_.slots().node[at(slot)])];
}

bool SlotAllocator::put(int rank, int node) {
  int& slot = next_[at(node)];
  const int end = task_.slots().first[at(node) + 1];
  while (slot < end && taken(slot)) ++slot;
  if (slot == end) return false;
  put_at(rank, slot);
  return true;
}

void SlotAllocator::pin_all() {
  const Slots& slots = task_.slots();
  // Ranks pinned to a certain core choose first.
  for (const Pin& pin : task_.constraints().pins) {
    if (pin.core < 0) continue;
    int slot = slots.first[at(pin.node)];
    const int end = slots.first[at(pin.node) + 1];
    while (slot < end && (taken(slot) || slots.core[at(slot)] != pin.core)) ++slot;
    if (slot == end) {
      throw InvalidArgument("pin of rank " + std::to_string(pin.rank) + ": core " + std::to_string(pin.core) +
                            " of node " + task_.machine().nodes[at(pin.node)].name + " is not free");
    }
    put_at(pin.rank, slot);
  }
  for (const Pin& pin : task_.constraints().pins) {
    if (pin.core < 0) put(pin.rank, pin.node);
  }
}

Assignment block_assignment(const Task& task) {
  SlotAllocator allocator(task);
  allocator.pin_all();
  int node = 0;
  for (int r = 0; r < task.ranks(); ++r) {
    if (allocator.placed(r)) continue;
    while (!allocator.put(r, node)) ++node;
  }
  return allocator.assignment();
}

Assignment cyclic_assignment(const Task& task) {
  SlotAllocator allocator(task);
  allocator.pin_all();
  const int nodes = task.machine().node_count();
  int node = 0;
  for (int r = 0; r < task.ranks(); ++r) {
    if (allocator.placed(r)) continue;
    while (!allocator.put(r, node)) node = (node + 1) % nodes;
    node = (node + 1) % nodes;
  }
  return allocator.assignment();
}

}  // namespace antiphon::mapping
