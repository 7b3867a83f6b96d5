// SPDX-License-Identifier: Apache-2.0
#include "job/warn.hpp"

#include <cstdio>

namespace antiphon::mpi {

void warn(const std::string& message) { std::fprintf(stderr, "antiphon: %s\n", message.c_str()); }

}  // namespace antiphon::mpi
