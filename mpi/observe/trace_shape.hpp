// SPDX-License-Identifier: Apache-2.0
// These functions turn a call's arguments into its shape in a trace.
#pragma once

#include <string>
#include <vector>

#include "call/call.hpp"

namespace antiphon::mpi::trace {

/// Lists the functions; shapes name a function by its place in this list.
std::vector<std::string> function_names();
void prepare_shapes();
void release_shapes();

/// Records a collective that runs from `began_s` until now (now_s()). It is thread-safe.
void collective(const Call& call, double began_s, bool as_schedule, bool failed);

}  // namespace antiphon::mpi::trace
