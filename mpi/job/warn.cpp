// SPDX-License-Identifier: Apache-2.0
#include "job/warn.hpp"

#include <cstdio>

namespace antiphon::mpi {

void warn(const std::string& message) { std::fprintf(stderr, "antiphon: %s\n", message.c_str()); }

void warn_left_alone(const std::string& reason) { warn(reason + "; every call is left to the library"); }

}  // namespace antiphon::mpi
