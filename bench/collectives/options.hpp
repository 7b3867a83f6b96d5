// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "measure.hpp"

namespace bench {

/// Wrong usage: what is wrong with the command line.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One way to do a collective: what antiphon_force takes.
struct Contender {
  std::string collective;  ///< "*": all
  std::string choice;

  /// "library", "antiphon" for its own choice, "antiphon:CHOICE" for a forced one.
  [[nodiscard]] std::string label() const;
};

struct Options {
  std::vector<std::string> collectives;
  std::vector<std::int64_t> bytes{1024, 65536};
  std::vector<Mode> modes{Mode::sync};
  std::vector<Contender> contenders;
  double budget_s = 5;  ///< for one collective at one size in one mode, all contenders together
  int root = 0;
  bool overhead = false;
  bool help = false;

  [[nodiscard]] std::vector<Contender> contenders_for(const std::string& collective) const;
};

extern const char* const usage;
Options parse_options(int argc, char** argv);

}  // namespace bench
