// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "call/call.hpp"
#include "entry/outcome.hpp"

namespace antiphon::mpi {

/// Counts a call in the summary; `used` is what does it. It ends now, and that of a nonblocking call is its start.
void count(const Call& call, const Outcome& outcome, std::string_view used);

}  // namespace antiphon::mpi
