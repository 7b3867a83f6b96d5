// SPDX-License-Identifier: Apache-2.0
// Tools of MPI's profiling interface (Darshan, mpiP, Score-P, …) that share the process with this object.
#pragma once

#include <string>
#include <vector>

namespace antiphon::mpi {

struct Tool {
  std::string file;
  /// False for a tool behind this object that finds the library by itself: it sees only what is not done here.
  bool sees_every_call = true;
};

/// Returns the tools that the calls of this process pass through, as far as load_library() has seen.
const std::vector<Tool>& tools_in_line();

/// Notes what the program's calls go to first, unless that is this object or the library (`by_library`).
void note_tool_before(void* first, void* by_library);
void note_tool_behind(void* function, bool comes_back);

}  // namespace antiphon::mpi
