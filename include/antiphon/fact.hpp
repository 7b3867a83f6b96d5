// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace antiphon {

/// Something that is known, and where it comes from: measured, told, or read from the system.
struct Fact {
  std::string name, value;
  std::string source;  ///< empty: it goes without saying

  /// Returns value and source, as everything that Antiphon prints has them.
  [[nodiscard]] std::string text() const { return source.empty() ? value : value + " (" + source + ")"; }
};

}  // namespace antiphon
