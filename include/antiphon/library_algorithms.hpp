// SPDX-License-Identifier: Apache-2.0
// What an MPI library does for a collective, as far as its source says (paper 2, Section 4.1). The tables are those of
// docs/reference/traffic.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "antiphon/cost.hpp"

namespace antiphon {

/// A part of a library's collective: a schedule of ours that sends the same messages.
struct LibraryPart {
  Choice choice;
  PredictedCall call;
  Among among = Among::all;
  int ranks = 0;           ///< of one group
  std::int64_t times = 1;  ///< so many segments, one after the other, while other parts work on other segments
};

/// The algorithms of one library and version.
class LibraryAlgorithms {
 public:
  /// Returns those of a library: a text that begins with "openmpi" or "mpich" and has the version as its first number.
  /// An unknown version stands for the newest. Returns null for other libraries.
  static const LibraryAlgorithms* of(std::string_view library);

  /// Returns the parts of a call, one after the other; nothing where the tables do not say. Messages that a library
  /// adds between the parts are left out.
  [[nodiscard]] std::optional<std::vector<LibraryPart>> parts(const PredictedCall& call, const Cluster& cluster) const;

  /// Predicts the library's time from them: infinity where it is longer than the limits ask for, nothing where they end
  /// the evaluation before that is known. The prediction is rather too short: it knows of no loss.
  [[nodiscard]] std::optional<double> predict_seconds(const PredictedCall& call, const Cluster& cluster,
                                                      const PredictionLimits& limits = {}) const;

  ~LibraryAlgorithms();
  LibraryAlgorithms(LibraryAlgorithms&&) noexcept;
  LibraryAlgorithms& operator=(LibraryAlgorithms&&) noexcept;

 private:
  LibraryAlgorithms();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace antiphon
