// SPDX-License-Identifier: Apache-2.0
// How Open MPI sends long messages over TCP: by default, ranks that exchange them wait for each other's answers.
#pragma once

#include <string>

#include "antiphon/fact.hpp"

namespace antiphon::mpi {

/// Lets Open MPI send long messages at once, by a variable of this process that it reads in MPI_Init, unless the
/// user has set a parameter of this kind, the link is too fast for it, or this is switched off by the variable of that
/// name. Returns what was done, or why not. Ranks may differ: a sender decides for its own messages, and every receiver
/// takes what comes.
Fact send_long_messages_at_once(const std::string& switched_off_by);

/// Takes the variable out again.
void forget_long_messages();

}  // namespace antiphon::mpi
