// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "../collectives/report.hpp"
#include "transfer.hpp"
#include "world.hpp"

namespace probe {

/// Says what is wrong with the command line; the same on all ranks.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One `--do EXPERIMENT;KEY=VALUE;…` of the command line.
class Task {
 public:
  explicit Task(const std::string& text);

  [[nodiscard]] const std::string& experiment() const { return experiment_; }
  [[nodiscard]] std::int64_t number(const std::string& key, std::int64_t otherwise) const;
  [[nodiscard]] double real(const std::string& key, double otherwise) const;
  [[nodiscard]] std::string text(const std::string& key, const std::string& otherwise) const;
  /// Parses "1,2,5".
  [[nodiscard]] std::vector<std::int64_t> numbers(const std::string& key, const std::string& otherwise) const;
  /// Parses "0-1,2-3/0-2,1-3", or "all": every pair of ranks once. Checks that no rank occurs twice in a round.
  [[nodiscard]] std::vector<Round> rounds(const std::string& key, int ranks) const;

 private:
  std::string experiment_;
  std::map<std::string, std::string> values_;
};

/// Returns every pair of `ranks` ranks once, in the fewest rounds (the circle method).
std::vector<Round> all_pairs(int ranks);

using bench::print_line;

/// An experiment. All ranks call it alike, and the root prints the result.
using Experiment = void (*)(World&, const Task&);

}  // namespace probe
