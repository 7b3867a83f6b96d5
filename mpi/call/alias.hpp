// SPDX-License-Identifier: Apache-2.0
// A call that sends from the place where it receives is an error in MPI, and some libraries report it.
#pragma once

#include "call/description.hpp"

namespace antiphon::mpi {

/// Finds out, on one rank alone, whether this library refuses such calls.
void ask_about_aliases();

/// Returns true if the library refuses this rank's call for that reason before it sends any message. Such a call goes
/// to the library, whatever the other ranks do. No other call may differ between ranks in this way, because only
/// this rank knows the reason.
bool refused_as_alias(const Description& d);

}  // namespace antiphon::mpi
