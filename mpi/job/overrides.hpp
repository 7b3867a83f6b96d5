// SPDX-License-Identifier: Apache-2.0
// The user can override Antiphon's own choices; these functions read what the user asks for.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "antiphon/select.hpp"

namespace antiphon::mpi {

/// Says what to use for one collective: the normal choice, or what the user asks for.
struct Override {
  enum class Mode : std::uint8_t { automatic, library, own, fixed } mode = Mode::automatic;
  Choice choice;  ///< used if the mode is `fixed`
};
using Overrides = std::array<Override, collective_count>;

/// Reads the text that antiphon_force() and the MPI_Info keys take. `credit_bytes` has the meaning that it has in
/// Settings and serves the credit protocol without parameters. Throws InvalidArgument.
Override parse_override(Collective collective, std::string_view text, std::int64_t credit_bytes);

/// Reads ANTIPHON_FORCE. Ignores items that cannot be used, and warns about them if `speaks`.
Overrides parse_force(const std::string& text, std::int64_t credit_bytes, bool speaks);

}  // namespace antiphon::mpi
