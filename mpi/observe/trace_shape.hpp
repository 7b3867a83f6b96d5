// SPDX-License-Identifier: Apache-2.0
// From a call's arguments to its shape in a trace.
#pragma once

#include <string>
#include <vector>

namespace antiphon::mpi::trace {

/// The functions that shapes name by their place in this list.
std::vector<std::string> function_names();
void prepare_shapes();
void release_shapes();

/// Writes a call, and before it the definitions that it needs (a communicator seen for the first time).
void record(const std::string& shape, const std::string& definitions, double began_s, double ended_s);

}  // namespace antiphon::mpi::trace
