// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace antiphon::mpi {

/// Prints one line on standard error: "antiphon: …".
void warn(const std::string& message);

}  // namespace antiphon::mpi
