// SPDX-License-Identifier: Apache-2.0
// A program may make a communicator for a few calls only. What schedules need there takes longer to make than a short
// call, so the library does the first ones.
#pragma once

#include <string>

#include "antiphon/select.hpp"

namespace antiphon::mpi {

/// Says which calls of a new communicator are the library's.
struct FirstCalls {
  static constexpr int all = -1;
  int calls = 0;  ///< so many, or all
  std::string reason;
};

/// Returns them for calls like this one; the same on every rank. `by_table` says that the table's rules for one node
/// choose, `has_own` that Antiphon's communicator beside the program's exists.
FirstCalls first_calls(const Question& question, bool by_table, bool has_own);

}  // namespace antiphon::mpi
