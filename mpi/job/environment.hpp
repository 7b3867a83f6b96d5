// SPDX-License-Identifier: Apache-2.0
// The user's variables as a rank was given them. Rank 0's hold for all, so a rank that has others would be misled.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "antiphon/settings.hpp"

namespace antiphon::mpi {

/// Returns a variable of this process; an empty text: it has none of this name.
std::string variable(const char* name);

/// Calls `take` with each of this process's variables, as "NAME=value", until that returns true.
void look_through_variables(const std::function<bool(std::string_view variable)>& take);

/// Returns the name of this process's first variable that is `wanted`, as "NAME=value"; an empty text: there is none.
std::string name_of_variable(const std::function<bool(std::string_view variable)>& wanted);

/// Tells whether ANTIPHON switches everything off.
bool is_switched_off();

/// Returns this process's variables that begin with ANTIPHON.
Environment own_variables();

/// Returns those that are settings of the preload objects, "NAME=value" in lines.
std::string own_settings();

/// Returns the first variable that differs between two such texts, as "NAME=value" or "no NAME" of the first one.
std::string first_difference(const std::string& own, const std::string& other);

}  // namespace antiphon::mpi
