// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "antiphon/text.hpp"

namespace bench {

/// Returns the non-empty parts of `text` between separators.
inline std::vector<std::string> split(const std::string& text, char separator = ',') {
  std::vector<std::string> parts = antiphon::split(text, separator);
  std::erase(parts, "");
  return parts;
}

}  // namespace bench
