// SPDX-License-Identifier: Apache-2.0
// Calls that send from where they receive: an error in MPI, which some libraries report.
#pragma once

#include "call/description.hpp"

namespace antiphon::mpi {

/// Tries on one rank alone whether this library refuses such calls.
void ask_about_aliases();

/// True where the library refuses this rank's call for that reason before it sends any message. Such a call goes to the
/// library, whatever the other ranks do; all others must not, because it is for this rank alone to know.
bool refused_as_alias(const Description& d);

}  // namespace antiphon::mpi
