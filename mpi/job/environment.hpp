// SPDX-License-Identifier: Apache-2.0
// The user's variables as a rank was given them. Rank 0's hold for all, so a rank that has others would be misled.
#pragma once

#include <string>

#include "antiphon/settings.hpp"

namespace antiphon::mpi {

/// Returns a variable of this process; an empty text: it has none of this name.
std::string variable(const char* name);

/// Tells whether ANTIPHON switches everything off.
bool is_switched_off();

/// Returns this process's variables that begin with ANTIPHON.
Environment own_variables();

/// Returns those that are settings of the preload objects, "NAME=value" in lines.
std::string own_settings();

/// Returns the first variable that differs between two such texts, as "NAME=value" or "no NAME" of the first one.
std::string first_difference(const std::string& own, const std::string& other);

}  // namespace antiphon::mpi
