// SPDX-License-Identifier: Apache-2.0
// From a call's arguments to its shape in a trace.
#pragma once

#include <string>
#include <vector>

#include "call/call.hpp"

namespace antiphon::mpi::trace {

/// The functions that shapes name by their place in this list.
std::vector<std::string> function_names();
void prepare_shapes();
void release_shapes();

/// A collective that took from `began_s` to now (now_s()). Thread-safe.
void collective(const Call& call, double began_s, bool as_schedule, bool failed);

}  // namespace antiphon::mpi::trace
