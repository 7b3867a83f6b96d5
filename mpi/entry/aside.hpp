// SPDX-License-Identifier: Apache-2.0
// Blocking collectives that the library does while persistent operations of ours are under way.
#pragma once

#include "call/call.hpp"

namespace antiphon::mpi {

/// A blocking collective that the library is to do, as a nonblocking one beside which operations go on. All ranks must
/// do it this way, or none. False: the library has none for it.
bool run_aside(const Call& call, int& result);

}  // namespace antiphon::mpi
