// SPDX-License-Identifier: Apache-2.0
// What a file about a run says of the run itself, so that it can be understood without the command that made it.
#pragma once

#include <ctime>
#include <string>
#include <vector>

namespace antiphon::mpi {

/// Returns the path of the program in this process; empty if it is unknown.
std::string program_name();
/// Returns a time as "2026-01-31T12:00:00Z".
std::string date_text(std::time_t when);
/// Returns the names of the nodes, in the order of their lowest ranks. Collective over MPI_COMM_WORLD.
std::vector<std::string> node_names();
/// Returns the MPI library and its version, as "Open MPI v5.0.7".
std::string library_title();
/// Returns Antiphon's version, as "0.1.0".
std::string antiphon_version();

}  // namespace antiphon::mpi
