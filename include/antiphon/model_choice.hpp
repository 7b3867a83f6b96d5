// SPDX-License-Identifier: Apache-2.0
// The model chooses while the program runs: for one collective and size on one communicator
// (docs/concepts/choosing.md).
#pragma once

#include <optional>
#include <string_view>

#include "antiphon/cost.hpp"
#include "antiphon/library_algorithms.hpp"

namespace antiphon {

/// What the model expects of a call.
struct ModelAnswer {
  Choice own;                       ///< the best of ours
  double own_s = 0;                 ///< of it
  std::optional<double> library_s;  ///< of the library's own, infinite if it is much longer; nothing if unknown, or if
                                    ///< it cannot matter
  double enough = 1;                ///< ours is taken if the library's takes so many times as long
  bool guessed = false;             ///< the machine was not measured
};

/// Asks the model, with a bounded number of simulated messages: milliseconds. `of_table` is what the rules choose,
/// `favourite` what they would use of ours, which stays where nothing is clearly better. The answer follows from the
/// arguments alone, so that all ranks get the same. Returns nothing where the model has no say: the size is unknown or
/// too short for a guess, or no algorithm fits.
std::optional<ModelAnswer> ask_model(const Question& question, const Cluster& cluster, const Choice& of_table,
                                     const Choice& favourite, const LibraryAlgorithms* library);

/// Returns what to use. Where the model sees little difference between ours and the library's, the table decides, which
/// is made from measurements: the model knows of no losses, and is too kind to what sends without a schedule.
Choice choose_between(const Choice& of_table, const ModelAnswer& answer);

/// Returns what a run would use once it has put the choice of the rules to the model of this machine: ranks lie on the
/// nodes in blocks or dealt out, as the question says.
Choice choose_with_model(const Rules& rules, const Question& question, const Profile& profile);

}  // namespace antiphon
