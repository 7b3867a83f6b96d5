// SPDX-License-Identifier: Apache-2.0
#include "job/library_parameters.hpp"

#include <cstdlib>

#include "job/crowded_node.hpp"
#include "job/environment.hpp"
#include "job/library_traits.hpp"
#include "job/long_messages.hpp"

namespace antiphon::mpi {

namespace {

std::vector<LibraryParameter> done;

/// Returns what suits this process, whether or not it is wanted.
std::vector<LibraryParameter> found() {
  if (library_name() == "openmpi") return {for_long_messages()};
  const auto crowded = for_crowded_node();
  return crowded ? std::vector{*crowded} : std::vector<LibraryParameter>{};
}

}  // namespace

const std::vector<LibraryParameter>& library_parameters() { return done; }

void set_library_parameters() {
  constexpr const char* name = "ANTIPHON_LIBRARY_PARAMETERS";
  if (is_switched_off()) return;
  done = found();
  for (LibraryParameter& parameter : done) {
    if (variable(name) == "off") parameter = {parameter.about, "as the library does", name, {}};
    for (const auto& [key, value] : parameter.variables) setenv(key, value, 1);
  }
}

void unset_library_parameters() {
  for (LibraryParameter& parameter : done) {
    for (const auto& [key, value] : parameter.variables) unsetenv(key);
    parameter.variables.clear();
  }
}

}  // namespace antiphon::mpi
