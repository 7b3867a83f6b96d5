// SPDX-License-Identifier: Apache-2.0
#include "antiphon/mapping.hpp"
#include "mapping/slot_allocator.hpp"

namespace antiphon::mapping::method_block {

namespace {

Assignment place(const Task& task, const Budget&) { return block_assignment(task); }

}  // namespace

extern const Method method{"block", "ranks in order, one node after the other: what most launchers do", nullptr, place};

}  // namespace antiphon::mapping::method_block
