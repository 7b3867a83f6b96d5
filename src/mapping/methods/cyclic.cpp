// SPDX-License-Identifier: Apache-2.0
#include "antiphon/mapping.hpp"
#include "mapping/slot_allocator.hpp"

namespace antiphon::mapping::methods_in {

namespace {

Assignment place(const Task& task, const Budget&) { return cyclic_assignment(task); }

}  // namespace

extern const Method cyclic{"cyclic", "ranks in order, a node each in turn", nullptr, place};

}  // namespace antiphon::mapping::methods_in
