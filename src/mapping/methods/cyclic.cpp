// SPDX-License-Identifier: Apache-2.0
#include "antiphon/mapping.hpp"
#include "mapping/slot_allocator.hpp"

namespace antiphon::mapping::method_cyclic {

namespace {

Assignment place(const Task& task, const Budget&) { return cyclic_assignment(task); }

}  // namespace

extern const Method method{"cyclic", "ranks in order, a node each in turn", nullptr, place};

}  // namespace antiphon::mapping::method_cyclic
