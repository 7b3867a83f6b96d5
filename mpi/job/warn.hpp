// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace antiphon::mpi {

/// Prints one line on standard error: "antiphon: …".
void warn(const std::string& message);

/// Call it between a line and MPI_Abort: MPICH's launcher drops what it has not read yet once a rank aborts.
void let_launcher_read();

/// Prints why Antiphon stands aside: "antiphon: REASON; every call is left to the library".
void warn_left_alone(const std::string& reason);

}  // namespace antiphon::mpi
