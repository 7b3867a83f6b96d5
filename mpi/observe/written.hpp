// SPDX-License-Identifier: Apache-2.0
// A file that the user asked for and that cannot be written is a failure of the run.
#pragma once

#include <string>

#include "antiphon/output_file.hpp"

namespace antiphon::mpi {

/// Puts the file in place; if that fails, says so and lets this process end with a failure. `what` names the content.
bool finish_output(OutputFile& file, const std::string& what, const std::string& path);

/// Lets this process end with exit code 1 where it would end with 0, so that launchers see that something is missing.
void end_with_failure();

}  // namespace antiphon::mpi
