// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "antiphon/cost.hpp"
#include "cost/pieces.hpp"
#include "cost/symmetry.hpp"

namespace antiphon {

/// With more ranks, an evaluation stops after this many rates of flows (half a second), and the result is extrapolated
/// from half of these ranks instead.
inline constexpr int many_ranks = 256;
inline constexpr std::int64_t most_rate_updates = 2'000'000;

/// Builds the schedules of one call, and evaluates all of them or those that stand for all.
class CallEvaluator {
 protected:
  CallEvaluator(const PredictedCall& call, const Algorithm& algorithm, const Parameters& parameters,
                const PredictionLimits& limits)
      : call_(call), algorithm_(algorithm), parameters_(resolve_parameters(algorithm, parameters)), limits_(limits) {}

  /// Returns the rank's problem, until another one is asked for.
  [[nodiscard]] const Problem& problem(int rank, int ranks) const;
  [[nodiscard]] Schedule schedule(int rank, int ranks) const;
  [[nodiscard]] std::vector<Schedule> all_schedules(int ranks) const;
  [[nodiscard]] std::int64_t total_pieces(int ranks) const;
  /// Returns the pieces of the ranks that would stand for all.
  [[nodiscard]] std::int64_t pieces_of_few(const Cluster& cluster) const {
    return pieces_of(schedule(0, cluster.ranks())) * cluster.period();
  }

  /// Returns nothing if the evaluation would take long.
  [[nodiscard]] std::optional<Prediction> evaluate_what_can_be(const Cluster& cluster, const Barrier* barrier) const;
  /// Returns nothing if no few ranks stand for all, or if these would take long.
  [[nodiscard]] std::optional<Prediction> evaluate_symmetric(const Cluster& cluster) const;
  /// Returns nothing if computing the rates of many ranks' flows would take long.
  [[nodiscard]] std::optional<double> evaluate_all(std::span<const Schedule> schedules, const Cluster& cluster,
                                                   const Barrier* barrier, bool patient = false) const;
  [[nodiscard]] double evaluate_period(const Cluster& cluster, const Symmetry& symmetry) const;
  [[nodiscard]] double give_up() const;

  PredictedCall call_;
  const Algorithm& algorithm_;
  Parameters parameters_;
  PredictionLimits limits_;
  std::int64_t most_pieces_ = std::min(most_pieces, limits_.max_pieces);
  std::int64_t rate_updates_ = most_rate_updates;
  std::shared_ptr<Effort> effort_ = std::make_shared<Effort>();  ///< shared by all that predict parts

  /// What was built for the call, since the same is asked for again and again.
  struct Built {
    std::optional<Problem> problem;
    std::map<std::pair<int, int>, Schedule> schedules;  ///< by rank and number of ranks
    std::size_t operations = 0;                         ///< of these schedules
  };
  mutable Built built_;
};

}  // namespace antiphon
