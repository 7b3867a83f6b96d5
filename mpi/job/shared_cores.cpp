// SPDX-License-Identifier: Apache-2.0
#include "job/shared_cores.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "job/environment.hpp"
#include "job/library_traits.hpp"
#include "job/library_variables.hpp"

namespace antiphon::mpi {

namespace {

/// MPICH reads each variable with one of three beginnings.
constexpr std::string_view beginnings[]{"MPIR_CVAR_", "MPIR_PARAM_", "MPICH_"};
constexpr std::string_view kinds[]{"CH4_PROGRESS_THROTTLE", "ENABLE_HEAVY_YIELD"};

/// Tells whether a variable says how the library's ranks wait: who sets one knows more.
bool says_how_to_wait(std::string_view text) {
  if (!library_throttles_polling()) return text.starts_with("OMPI_MCA_mpi_yield_when_idle");
  const auto starts_with = [&](std::string_view beginning) { return text.starts_with(beginning); };
  const auto* const beginning = std::find_if(std::begin(beginnings), std::end(beginnings), starts_with);
  if (beginning == std::end(beginnings)) return false;
  text.remove_prefix(beginning->size());
  return std::any_of(std::begin(kinds), std::end(kinds), starts_with);
}

bool library_keeps_cores() { return library_throttles_polling() || (library_name() == "openmpi" && !library_yields()); }

void give_cores_away() {
  if (!library_throttles_polling()) return make_library_yield();
  constexpr int looks_in_vain = 50;
  const LibraryVariables variables;
  variables.set("MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT", looks_in_vain);
  variables.set("MPIR_CVAR_CH4_PROGRESS_THROTTLE", 1);
}

}  // namespace

std::optional<Fact> share_cores(const Crowd& crowd, const std::string& switched_off_by) {
  constexpr const char* polling = "polling";
  if (crowd.ranks_on_core() <= 1 || !library_keeps_cores()) return std::nullopt;
  // MPICH's looks for messages from other nodes give the core away already: twice would cost turns.
  if (library_throttles_polling() && crowd.ranks_of_node < 2) return std::nullopt;
  if (!switched_off_by.empty()) return Fact{polling, "as the library does", switched_off_by};
  if (const std::string by = name_of_variable(says_how_to_wait); !by.empty())
    return Fact{polling, "as is set", "set by " + by};
  give_cores_away();
  return Fact{polling, "ranks that wait give their core away",
              std::to_string(crowd.ranks) + " ranks on " + std::to_string(crowd.cores) +
                  (crowd.cores == 1 ? " core" : " cores")};
}

}  // namespace antiphon::mpi
