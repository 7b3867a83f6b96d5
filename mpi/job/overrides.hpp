// SPDX-License-Identifier: Apache-2.0
// What somebody asked for instead of Antiphon's own choices.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "antiphon/select.hpp"

namespace antiphon::mpi {

/// What to use for one collective: the normal choice, or what somebody asked for.
struct Override {
  enum class Mode : std::uint8_t { automatic, library, own, fixed } mode = Mode::automatic;
  Choice choice;  ///< of fixed
};
using Overrides = std::array<Override, collective_count>;

/// Reads what antiphon_force() and the MPI_Info keys take. `credit_bytes`: as in Settings, for the credit protocol
/// without parameters. Throws InvalidArgument.
Override parse_override(Collective collective, std::string_view text, std::int64_t credit_bytes);

/// Reads ANTIPHON_FORCE. Items that cannot be used are ignored, with a warning if `speaks`.
Overrides parse_force(const std::string& text, std::int64_t credit_bytes, bool speaks);

}  // namespace antiphon::mpi
