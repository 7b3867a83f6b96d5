// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>

#include "json/json.hpp"

namespace bench {

/// Prints one JSON object as a line and flushes it, because the reader shows progress by it.
inline void print_line(const antiphon::Json& line) {
  std::printf("%s\n", line.sorted().dump().c_str());
  std::fflush(stdout);
}

}  // namespace bench
