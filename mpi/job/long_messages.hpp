// SPDX-License-Identifier: Apache-2.0
// How Open MPI sends long messages over TCP: by default, ranks that exchange them wait for each other's answers.
#pragma once

#include "job/library_parameter.hpp"

namespace antiphon::mpi {

/// Returns what lets Open MPI send long messages at once, unless the user has set a parameter of this kind, or the link
/// is too fast for it. Ranks may differ: a sender decides for its own messages, and every receiver takes what comes.
LibraryParameter for_long_messages();

}  // namespace antiphon::mpi
