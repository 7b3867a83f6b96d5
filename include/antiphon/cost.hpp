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
#include "antiphon/profile.hpp"
#include "antiphon/select.hpp"

namespace antiphon {

/// A profile, and ranks placed on its nodes. A machine larger than the one that was measured is continued by repeating
/// it.
class Machine {
 public:
  /// Rank r on node node_of_rank[r].
  Machine(Profile profile, std::vector<int> node_of_rank);
  /// `ranks_per_node` consecutive ranks on each node.
  static Machine blocked(const Profile& profile, int ranks, int ranks_per_node);
  /// Rank r on node r mod `nodes`.
  static Machine round_robin(const Profile& profile, int ranks, int nodes);

  [[nodiscard]] const Profile& profile() const { return profile_; }
  [[nodiscard]] int ranks() const { return static_cast<int>(node_of_rank_.size()); }
  [[nodiscard]] int nodes() const { return nodes_; }
  [[nodiscard]] int node(int rank) const { return node_of_rank_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::span<const int> node_of_rank() const { return node_of_rank_; }
  /// The node's entry in the topology.
  [[nodiscard]] const NodeEntry& entry(int node) const;
  [[nodiscard]] Scope scope(int a, int b) const;
  [[nodiscard]] const LinkClass& link(int from, int to) const { return profile_.link_class(scope(from, to)); }
  /// Ranks after which everything repeats: shifting all ranks by it changes nothing. The number of ranks where nothing
  /// does.
  [[nodiscard]] int period() const { return period_; }
  /// Ranks on the cores that rank 0 shares, and these cores; 0 cores: each rank has its own.
  [[nodiscard]] int ranks_on_cores() const { return ranks_on_cores_; }
  [[nodiscard]] int cores() const { return cores_; }
  /// On each of the shared cores; 0: there are none.
  [[nodiscard]] double ranks_on_core() const { return cores_ > 0 ? static_cast<double>(ranks_on_cores_) / cores_ : 0; }
  /// For how long a rank that waits holds its core, with so many on it.
  [[nodiscard]] double turn_s() const { return profile_.processors.turn_with(ranks_on_core()); }
  /// Another machine of the same kind, with so many ranks.
  [[nodiscard]] Machine resized(int ranks) const;

 private:
  void count();

  Profile profile_;
  std::vector<int> node_of_rank_;
  int nodes_ = 0;
  int period_ = 0;
  int ranks_on_cores_ = 1;
  int cores_ = 0;
};

/// One message, or piece of one, as the evaluator saw it.
struct TimedTransfer {
  int from = 0;
  int to = 0;
  std::int64_t bytes = 0;
  double begin_s = 0;  ///< its first byte leaves
  double end_s = 0;    ///< it has been received
};

struct Evaluation {
  double seconds = 0;                        ///< until the last rank is done
  std::vector<double> rank_end_s;            ///< of each rank that was evaluated
  std::vector<TimedTransfer> transfers;      ///< only if asked for
  std::vector<std::vector<double>> marks_s;  ///< when each rank came to its marks
  std::int64_t pieces = 0;                   ///< of messages
  bool given_up = false;                     ///< beyond max_rate_updates: the times are of a beginning
};

struct EvaluationOptions {
  std::int64_t max_pieces = std::int64_t{1} << 23;  ///< throws InvalidArgument beyond
  /// Gives up when rates of flows have been computed so often: many that share links, directly or not, take long.
  std::int64_t max_rate_updates = std::numeric_limits<std::int64_t>::max();
  bool transfers = false;
  std::uint32_t order = 0;  ///< of the turns of ranks that share a core: 0 by rank, else one of chance
  /// Of each rank, operations without bytes whose times are wanted; every rank has as many.
  std::vector<std::vector<OpId>> marks;
};

/// What all ranks' schedules take on the machine: event by event, processors, ports and uplinks shared max-min fairly
/// (docs/concepts/model.md). Throws InvalidArgument for schedules that do not fit together.
Evaluation evaluate(std::span<const Schedule> schedules, const Machine& machine, const EvaluationOptions& options = {});

/// A collective call, as far as its time depends on it. Irregular collectives have equal blocks.
struct Call {
  Collective collective = Collective::barrier;
  std::int64_t bytes = 0;
  int root = 0;
  std::int64_t element_bytes = 1;
  bool commutative = true;
};
/// The problem of one rank of it.
Problem problem_of(const Call& call, int rank, int size, const Algorithm& algorithm, const Parameters& parameters);

/// How a prediction came about.
enum class Method : std::uint8_t {
  evaluated,     ///< all ranks' schedules
  symmetric,     ///< one period of ranks stands for all
  extrapolated,  ///< from fewer ranks
};
std::string_view name(Method method);

struct Prediction {
  double seconds = 0;
  Method method = Method::evaluated;
};

/// Between whom a part of a library's barrier goes: all ranks, each node's, or the first ones of all nodes.
enum class Among : std::uint8_t { all, node, leaders };
struct BarrierPart {
  Choice choice;
  Among among = Among::all;
};
/// A library's barrier: one part after the other.
using Barrier = std::vector<BarrierPart>;

/// Predicts one algorithm with all its parameters; nothing where it does not support the call. With a `barrier`: as a
/// benchmark times it, again and again after that barrier: ranks leave it one after the other, and ports have not
/// forgotten the last call.
std::optional<Prediction> predict(const Call& call, const Algorithm& algorithm, const Parameters& parameters,
                                  const Machine& machine, const Barrier* barrier = nullptr);

/// The same from P0, 2 P0 and 4 P0 ranks: a + b P + c log2 P, the terms that chains and trees are made of. What
/// predict() does where evaluating all ranks would take too long.
double predict_from_fewer_ranks(const Call& call, const Algorithm& algorithm, const Parameters& parameters,
                                const Machine& machine);

/// A candidate with its prediction.
struct RankedChoice {
  const Algorithm* algorithm = nullptr;
  Parameters parameters;
  double seconds = 0;
  Method method = Method::evaluated;
  std::optional<double> closed_form_s;  ///< of the paper's closed form, where there is one
};

struct SearchOptions {
  bool parameters = true;    ///< search them; false: defaults only
  int max_evaluations = 64;  ///< for each algorithm
};

/// The best parameters of one algorithm by the model: sizes m/2^i, then hill-climbing (paper 5, Section 3); other
/// parameters in turns. nullopt where the algorithm does not support the call.
std::optional<RankedChoice> best_parameters(const Call& call, const Algorithm& algorithm, const Machine& machine,
                                            const SearchOptions& options = {});

/// All algorithms of the collective, fastest first.
std::vector<RankedChoice> rank_candidates(const Call& call, const Machine& machine, const SearchOptions& options = {});

/// What the model would use for a question; for a size that is unknown, nothing.
std::optional<Choice> choose_by_model(const Question& question, const Profile& profile);

}  // namespace antiphon
