// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "antiphon/algorithm.hpp"
#include "antiphon/cluster.hpp"
#include "antiphon/profile.hpp"
#include "antiphon/select.hpp"

namespace antiphon {

/// One message, or one piece of a message, as the evaluator saw it.
struct TimedTransfer {
  int from = 0;
  int to = 0;
  std::int64_t bytes = 0;
  double begin_s = 0;  ///< its first byte leaves
  double end_s = 0;    ///< it has been received
};

struct Evaluation {
  double seconds = 0;                        ///< until the last rank is done; infinite after max_seconds
  std::vector<double> rank_end_s;            ///< of each rank that was evaluated
  std::vector<TimedTransfer> transfers;      ///< only if asked for
  std::vector<std::vector<double>> marks_s;  ///< when each rank came to its marks
  std::int64_t pieces = 0;                   ///< of messages
  bool given_up = false;  ///< the evaluation stopped at max_rate_updates: the times cover only the beginning
};

struct EvaluationOptions {
  std::int64_t max_pieces = std::int64_t{1} << 23;  ///< more pieces than this throw InvalidArgument
  /// The evaluation gives up after computing this many flow rates: many flows that share links take long, directly or
  /// not.
  std::int64_t max_rate_updates = std::numeric_limits<std::int64_t>::max();
  /// The evaluation ends where model time passes this; what takes longer counts as infinitely long.
  double max_seconds = std::numeric_limits<double>::infinity();
  bool transfers = false;
  std::uint32_t order = 0;  ///< turns of ranks that share a core: 0 means by rank, else the seed of a random order
  /// Each rank's operations without bytes that are timed as marks, in the order of the schedule.
  std::vector<std::vector<OpId>> marks;
};

/// Returns the time that all ranks' schedules take on the cluster, simulated event by event. Processors, ports and
/// uplinks are shared max-min fairly (docs/concepts/model.md). Throws InvalidArgument for schedules that do not fit
/// together.
Evaluation evaluate(std::span<const Schedule> schedules, const Cluster& cluster, const EvaluationOptions& options = {});

/// Everything that the time of a collective call depends on. Irregular collectives have equal blocks.
struct PredictedCall {
  Collective collective = Collective::barrier;
  std::int64_t bytes = 0;
  int root = 0;
  std::int64_t element_bytes = 1;
  bool commutative = true;
  bool nonblocking = false;       ///< what a library does for MPI_I… (it says nothing about schedules)
  std::vector<int> node_sizes;    ///< as Problem::node_sizes; of fewer ranks, the first of them count
  std::vector<int> switch_sizes;  ///< as Problem::switch_sizes, likewise

  /// Returns the root where the collective has one.
  [[nodiscard]] std::optional<int> root_if_any() const {
    return has_root(collective) ? std::optional(root) : std::nullopt;
  }
};
/// Gives an irregular collective's problem blocks of its `bytes` each, as far as a rank knows them in such an
/// algorithm.
void set_equal_blocks(Problem& problem, Knowledge knowledge);
/// Returns one rank's problem.
Problem problem_of(const PredictedCall& call, int rank, int size, const Algorithm& algorithm,
                   const Parameters& parameters);

/// Says how a prediction was made.
enum class Method : std::uint8_t {
  evaluated,     ///< all ranks' schedules
  symmetric,     ///< one period of ranks stands for all
  extrapolated,  ///< from fewer ranks
};
std::string_view name(Method method);

struct Prediction {
  double seconds = 0;
  Method method = Method::evaluated;
  std::int64_t pieces = 0;  ///< that were simulated for it, or work that takes as long
  bool given_up = false;    ///< `seconds` is infinite because of the limits on work, and tells nothing
};

/// The schedules of more ranks take so long to build, and so much memory, that fewer are looked at.
inline constexpr int very_many_ranks = 8192;

/// Lists what a prediction may leave out in order to be fast. By default it leaves nothing out.
struct PredictionLimits {
  double max_seconds = std::numeric_limits<double>::infinity();  ///< as EvaluationOptions::max_seconds
  /// As EvaluationOptions::max_rate_updates; what needs more is given up.
  std::int64_t max_rate_updates = std::numeric_limits<std::int64_t>::max();
  int max_ranks = std::numeric_limits<int>::max();  ///< with more ranks, the time is extrapolated from so many
  /// What has more pieces of messages is given up, not extrapolated from shorter messages.
  std::int64_t max_pieces = std::numeric_limits<std::int64_t>::max();
  bool one_order = false;    ///< of turns, where ranks share cores
  bool as_numbered = false;  ///< ranks stay in the order of their numbers, as the libraries' own algorithms have them
};

/// The ranks that take part in one part of a library's barrier: all, those of each node, or all nodes' first ranks.
enum class Among : std::uint8_t { all, node, leaders };
struct BarrierPart {
  Choice choice;
  Among among = Among::all;
};
/// A library's barrier: its parts run one after the other.
using Barrier = std::vector<BarrierPart>;

/// Predicts one algorithm with all its parameters; nothing where it does not support the call, or too few ranks to
/// extrapolate from. With a `barrier`, the time is what a benchmark measures that repeats barrier and call: ranks leave
/// the barrier one after the other, and the last call has used part of the ports' bursts.
std::optional<Prediction> predict(const PredictedCall& call, const Algorithm& algorithm, const Parameters& parameters,
                                  const Cluster& cluster, const Barrier* barrier = nullptr,
                                  const PredictionLimits& limits = {});

/// Predicts the same, extrapolated from P0, 2 P0 and 4 P0 ranks as a + b P + c log2 P, the terms of chains and trees;
/// nothing where the algorithm supports too few of them. predict() does this where evaluating all ranks would take too
/// long.
std::optional<double> predict_from_fewer_ranks(const PredictedCall& call, const Algorithm& algorithm,
                                               const Parameters& parameters, const Cluster& cluster);

/// A candidate with its prediction.
struct RankedChoice {
  const Algorithm* algorithm = nullptr;
  Parameters parameters;
  double seconds = 0;
  Method method = Method::evaluated;
  std::optional<double> closed_form_s;  ///< of the paper's closed form, where there is one
};

/// A candidate that the model cannot evaluate.
struct LeftOut {
  const Algorithm* algorithm = nullptr;
  Parameters parameters;
  std::string why;
};

/// Returns the values of a parameter that are worth trying for this call, its default among them. Of pieces, these are
/// the sizes that a search begins with. How many ranks are served at once follows from the concurrency index that was
/// measured, for long messages: the index comes first, and nothing is beyond twice the index.
std::vector<std::int64_t> values_to_try(const Parameter& parameter, const PredictedCall& call, const Cluster& cluster);

/// Tells whether the bytes under way to one rank stay within what the network was seen to hold.
bool within_credit(const Algorithm& algorithm, const Parameters& parameters, const PredictedCall& call,
                   const Cluster& cluster);

/// Returns the sets of parameters that differ from these in one value, within credit. Cuts, windows and the shapes of
/// trees stay.
std::vector<Parameters> variations(const PredictedCall& call, const Algorithm& algorithm, const Parameters& parameters,
                                   const Cluster& cluster);

struct SearchOptions {
  bool parameters = true;    ///< search them; false: defaults only
  int max_evaluations = 64;  ///< for each algorithm
  int threads = 1;           ///< that evaluate algorithms at once
  /// An algorithm's search ends after so many pieces of messages, or work that takes as long.
  std::int64_t max_pieces = std::numeric_limits<std::int64_t>::max();
};

/// Returns one algorithm's best parameters by the model: it tries piece sizes m/2^i, then climbs hills (paper 5,
/// Section 3), and then tries the other parameters in turn. Returns nothing where the algorithm does not support the
/// call. Parameters with which an evaluation fails are passed over; an algorithm that fails with its defaults comes
/// into `left_out`.
std::optional<RankedChoice> best_parameters(const PredictedCall& call, const Algorithm& algorithm,
                                            const Cluster& cluster, const SearchOptions& options = {},
                                            std::vector<LeftOut>* left_out = nullptr);

/// Returns all algorithms of the collective, fastest first.
std::vector<RankedChoice> rank_candidates(const PredictedCall& call, const Cluster& cluster,
                                          const SearchOptions& options = {}, std::vector<LeftOut>* left_out = nullptr);

/// Returns the model's answer to a question, or nothing where the size is unknown.
std::optional<Choice> choose_by_model(const Question& question, const Profile& profile);

}  // namespace antiphon
