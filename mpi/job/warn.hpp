// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace antiphon::mpi {

/// Prints one line on standard error: "antiphon: …".
void warn(const std::string& message);

/// Does the same, for a reason why Antiphon stands aside: "antiphon: REASON; every call is left to the library".
void warn_left_alone(const std::string& reason);

}  // namespace antiphon::mpi
