// SPDX-License-Identifier: Apache-2.0
#include "job/crowded_node.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

#include "antiphon/text.hpp"
#include "job/environment.hpp"
#include "job/library_traits.hpp"

namespace antiphon::mpi {

namespace {

constexpr const char* polling = "polling";
constexpr const char* throttle = "MPIR_CVAR_CH4_PROGRESS_THROTTLE";
constexpr const char* looks = "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT";
constexpr const char* looks_in_vain = "50";
/// Who sets any of these knows more; MPICH reads each with one of three beginnings.
constexpr std::string_view of_kind[]{"CH4_PROGRESS_THROTTLE", "ENABLE_HEAVY_YIELD"};
constexpr std::string_view beginnings[]{"MPIR_CVAR_", "MPIR_PARAM_", "MPICH_"};
/// Hydra's process on each node, which starts the ranks.
constexpr std::string_view launcher = "hydra_pmi_proxy";
constexpr int most_ancestors = 16;

/// Tells whether a variable sets a parameter of this kind.
bool is_of_kind(std::string_view text) {
  const auto starts_with = [&](std::string_view beginning) { return text.starts_with(beginning); };
  const auto* const beginning = std::find_if(std::begin(beginnings), std::end(beginnings), starts_with);
  if (beginning == std::end(beginnings)) return false;
  text.remove_prefix(beginning->size());
  return std::any_of(std::begin(of_kind), std::end(of_kind), starts_with);
}

/// Returns a field of /proc/PID/status; an empty text: there is none.
std::string status_of(pid_t process, std::string_view field) {
  for (const std::string& line : lines_of_file("/proc/" + std::to_string(process) + "/status")) {
    if (line.starts_with(field)) return line.substr(std::min(line.find_first_not_of(" \t", field.size()), line.size()));
  }
  return "";
}

pid_t parent_of(pid_t process) { return std::atoi(status_of(process, "PPid:").c_str()); }

/// Returns on how many cores a process may run; 0: nobody says.
int cores_of(pid_t process) {
  cpu_set_t cores;
  return sched_getaffinity(process, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 0;
}

/// Returns on how many cores the node's ranks may run; 0: no such launcher is among this process's ancestors.
int cores_of_node() {
  pid_t process = getppid();
  for (int i = 0; i < most_ancestors && process > 1; ++i, process = parent_of(process)) {
    if (status_of(process, "Name:") != launcher) continue;
    // A rank may be bound to a core, and the launcher goes from core to core while it finds out what the node has.
    return std::max({cores_of(0), cores_of(process), cores_of(parent_of(process))});
  }
  return 0;
}

}  // namespace

std::optional<LibraryParameter> for_crowded_node() {
  if (!library_throttles_polling()) return std::nullopt;
  const int ranks = std::atoi(variable("MPI_LOCALNRANKS").c_str());  // Hydra's
  const int cores = ranks > 1 ? cores_of_node() : 0;
  if (cores == 0 || ranks <= cores) return std::nullopt;
  if (const std::string by = name_of_variable(is_of_kind); !by.empty())
    return LibraryParameter{polling, "as is set", "set by " + by, {}};
  const std::string what =
      std::to_string(ranks) + " ranks on " + std::to_string(cores) + (cores == 1 ? " core" : " cores");
  return LibraryParameter{
      polling, "ranks that wait give their core away", what, {{throttle, "1"}, {looks, looks_in_vain}}};
}

}  // namespace antiphon::mpi
