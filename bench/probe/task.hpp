// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "json/json.hpp"
#include "transfer.hpp"
#include "world.hpp"

namespace probe {

/// What is wrong with the command line; the same on all ranks.
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
  /// "1,2,5"
  [[nodiscard]] std::vector<std::int64_t> numbers(const std::string& key, const std::string& otherwise) const;
  /// "0-1,2-3/0-2,1-3", or "all": every pair of the ranks once. Checked: no rank twice in a round.
  [[nodiscard]] std::vector<Round> rounds(const std::string& key, int ranks) const;

 private:
  std::string experiment_;
  std::map<std::string, std::string> values_;
};

/// Every pair of `ranks` ranks once, in as few rounds as there can be (the circle method).
std::vector<Round> all_pairs(int ranks);

/// One JSON object on a line of its own, at once: whoever reads it shows progress by it.
void print_line(const antiphon::Json& line);

/// An experiment: all ranks call it alike, the root prints what came of it.
using Experiment = void (*)(World&, const Task&);

}  // namespace probe
