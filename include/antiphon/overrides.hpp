// SPDX-License-Identifier: Apache-2.0
// The user can override Antiphon's own choices; these functions read what the user asks for.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "antiphon/select.hpp"

namespace antiphon {

/// Says what to use for one collective: the normal choice, or what the user asks for.
struct Override {
  enum class Mode : std::uint8_t { automatic, library, own, fixed } mode = Mode::automatic;
  Choice choice;  ///< used if the mode is `fixed`
};
using Overrides = std::array<Override, collective_count>;

/// Reads the text that antiphon_force() and the MPI_Info keys take. `credit` is what the credit protocol gets where the
/// text names no parameters: those of Antiphon's own choice, as of credit_parameters(). Throws InvalidArgument.
Override parse_override(Collective collective, std::string_view text, const std::string& credit);

/// Reads ANTIPHON_FORCE: "COLLECTIVE|*:CHOICE;…". Throws InvalidArgument naming the first item that cannot be used.
Overrides parse_force(std::string_view text, const std::string& credit);

}  // namespace antiphon
