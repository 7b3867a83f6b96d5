// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "measure.hpp"

namespace bench {

/// Says what is wrong with the command line.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One way to do a collective, in the form that antiphon_force takes.
struct Contender {
  std::string collective;  ///< "*": all
  std::string choice;

  /// "library", "library:ALGORITHM", "antiphon" for its own choice, or "antiphon:CHOICE" for a forced one.
  [[nodiscard]] std::string label() const;
  /// Tells whether this is the blocking call, by Antiphon's own choice, beside nonblocking ones.
  [[nodiscard]] bool blocking() const { return choice == "blocking"; }
  /// The library's own algorithm that is forced; empty: none.
  [[nodiscard]] std::string library_algorithm() const;
};

/// What is measured together: all contenders for one collective at one size on the first `ranks` ranks.
struct Cell {
  std::string collective;
  std::int64_t bytes = 0;
  int ranks = 0;  ///< 0: all
  std::vector<Mode> modes;
  std::vector<Contender> contenders;
};

struct Options {
  std::vector<std::string> collectives;
  std::vector<std::int64_t> bytes{1024, 65536};
  std::vector<Mode> modes{Mode::sync};
  std::vector<Contender> contenders;
  double budget_s = 5;  ///< for one collective at one size in one mode, all contenders together
  int root = 0;
  double deadline_s = 0;  ///< no cell begins after this time; 0: no limit
  bool race = false;      ///< leave out contenders as soon as they clearly cannot win a cell
  std::vector<Cell> cells;
  bool nonblocking = false;
  bool field = false;  ///< as Manner::field
  bool busy = false;   ///< computations take processor time instead of sleeping
  bool overhead = false;
  bool list_library = false;
  bool help = false;

  /// The cells that were named, or else every collective at every size.
  [[nodiscard]] std::vector<Cell> all_cells() const;
};

extern const char* const usage;
Options parse_options(int argc, char** argv);

}  // namespace bench
