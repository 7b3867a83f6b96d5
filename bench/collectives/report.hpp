// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>

#include "json/json.hpp"

namespace bench {

/// One JSON object on a line of its own, at once: whoever reads it shows progress by it.
inline void print_line(const antiphon::Json& line) {
  std::printf("%s\n", line.sorted().dump().c_str());
  std::fflush(stdout);
}

}  // namespace bench
