// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "antiphon/cost.hpp"
#include "antiphon/error.hpp"
#include "cost/benchmark.hpp"
#include "cost/simulation.hpp"

namespace antiphon {

namespace {

/// Up to so many ranks and pieces all ranks are evaluated, even where fewer would do. Where nodes share cores, one
/// stands badly for the others, whose turns are not its own.
constexpr int few_ranks = 32;
constexpr int few_ranks_on_shared_cores = 256;
constexpr std::int64_t few_pieces = 1 << 16;
/// Up to so many pieces anything is evaluated: about a second.
constexpr std::int64_t most_pieces = 1 << 18;
/// With more ranks, what has many flows that hang together (half a second) is left, and extrapolated from half of these
/// ranks.
constexpr int many_ranks = few_ranks_on_shared_cores;
constexpr std::int64_t most_rate_updates = 2'000'000;
/// In so many orders of turns a short call is evaluated; what takes longer than so many rounds of all ranks depends
/// little on it.
constexpr std::uint32_t orders_of_turns = 5;
constexpr double long_rounds = 100;
/// A machine of at least so many ranks is evaluated when a larger one is extrapolated.
constexpr int least_ranks = 8;

void set_equal_blocks(Problem& p, Knowledge knowledge) {
  const bool knows = !has_root(p.collective) || p.rank == p.root || knowledge == Knowledge::all_counts;
  const bool sends = p.collective == Collective::scatterv || p.collective == Collective::alltoallv;
  const bool receives = p.collective != Collective::scatterv;
  const auto n = static_cast<std::size_t>(p.size);
  std::vector<std::int64_t> offsets(n);
  for (std::size_t i = 0; i < n; ++i) offsets[i] = static_cast<std::int64_t>(i) * p.bytes;
  if (knows && sends) {
    p.send_bytes.assign(n, p.bytes);
    p.send_offsets = offsets;
  }
  if (knows && receives) {
    p.recv_bytes.assign(n, p.bytes);
    p.recv_offsets = offsets;
  }
}

std::int64_t pieces_of(const Schedule& s) {
  std::int64_t pieces = 0;
  for (const Op& op : s.ops()) {
    if (op.kind == OpKind::send) pieces += op.pieces();
    if (op.kind == OpKind::multicast)
      pieces += op.pieces() * static_cast<std::int64_t>(s.groups()[static_cast<std::size_t>(op.group)].size());
  }
  // What is not sent costs the evaluator time too, but less.
  return pieces + static_cast<std::int64_t>(s.ops().size()) / 4;
}

/// Builds the schedules of one call, evaluates them or what stands for them.
class Predictor {
 public:
  Predictor(const Call& call, const Algorithm& algorithm, const Parameters& parameters)
      : call_(call), algorithm_(algorithm), parameters_(resolve_parameters(algorithm, parameters)) {}

  [[nodiscard]] bool supported(int ranks) const {
    return ranks > call_.root && supports(algorithm_, problem_of(call_, 0, ranks, algorithm_, parameters_));
  }

  [[nodiscard]] Prediction predict(const Machine& machine, const Barrier* barrier) const {
    if (const auto evaluated = evaluate_what_can_be(machine, barrier)) return *evaluated;
    return {machine.ranks() > 4 * least_ranks ? over_ranks(machine) : over_bytes(machine, barrier),
            Method::extrapolated};
  }

  /// From P0, 2 P0, 4 P0 and 8 P0 ranks: so much more with each rank, and so much with each doubling.
  [[nodiscard]] double over_ranks(const Machine& machine) const {
    Call call = call_;
    call.root = 0;
    const Predictor smaller(call, algorithm_, parameters_);
    // Powers of two, which no algorithm refuses.
    int most = static_cast<int>(std::bit_floor(static_cast<unsigned>(machine.ranks() - 1)));
    while (most > 4 * least_ranks && smaller.total_pieces(most) > most_pieces) most /= 2;
    auto largest = smaller.evaluate_what_can_be(machine.resized(most), nullptr);
    if (!largest && most > many_ranks) {
      most = many_ranks / 2;
      largest = smaller.evaluate_what_can_be(machine.resized(most), nullptr);
    }
    std::array<double, 4> seconds{};
    for (std::size_t i = 0; i < 3; ++i) seconds[i] = smaller.predict(machine.resized(most >> (3 - i)), nullptr).seconds;
    seconds[3] = (largest ? *largest : smaller.predict(machine.resized(most), nullptr)).seconds;
    const auto more = [&](std::size_t i) { return seconds[i + 1] - seconds[i]; };
    // What grows with the ranks shows it twice; one jump that is taken for such growth would be all there is at many
    // times the ranks.
    const double slope = std::max(std::min((more(1) - more(0)) * 2, more(2) - more(1)) / (most / 4), 0.0);
    const double doubling = std::max(more(2) - slope * (most / 2), 0.0);
    return seconds[3] + slope * (machine.ranks() - most) +
           doubling * std::log2(static_cast<double>(machine.ranks()) / most);
  }

 private:
  /// Nothing, if that would take long.
  [[nodiscard]] std::optional<Prediction> evaluate_what_can_be(const Machine& machine, const Barrier* barrier) const {
    const std::int64_t all = total_pieces(machine.ranks());
    const int few = machine.cores() > 0 ? few_ranks_on_shared_cores : few_ranks;
    const auto evaluated = [&]() -> std::optional<Prediction> {
      const auto seconds = evaluate_all(machine, barrier);
      return seconds ? std::optional(Prediction{*seconds, Method::evaluated}) : std::nullopt;
    };
    if (machine.ranks() <= few && all <= few_pieces) return evaluated();
    const auto build = [&](int rank) { return schedule(rank, machine.ranks()); };
    const Symmetry symmetry = find_symmetry(build, machine.ranks(), machine.period(), call_.root);
    if (!symmetry.whole() && all / machine.ranks() * symmetry.period <= most_pieces) {
      return Prediction{evaluate_period(machine, symmetry), Method::symmetric};
    }
    return all > most_pieces ? std::nullopt : evaluated();
  }

  [[nodiscard]] Schedule schedule(int rank, int ranks) const {
    return algorithm_.build(problem_of(call_, rank, ranks, algorithm_, parameters_));
  }

  /// Of all ranks, from a few: the root sends the most in a flat tree, others in rings.
  [[nodiscard]] std::int64_t total_pieces(int ranks) const {
    std::int64_t total = 0;
    constexpr int looked_at = 8;
    if (ranks <= 64) {
      for (int r = 0; r < ranks; ++r) total += pieces_of(schedule(r, ranks));
      return total;
    }
    for (int i = 1; i <= looked_at; ++i) {
      const int r =
          (call_.root + static_cast<int>(static_cast<std::int64_t>(i) * (ranks - 1) / (looked_at + 1))) % ranks;
      total += pieces_of(schedule(r == call_.root ? (r + 1) % ranks : r, ranks));
    }
    return pieces_of(schedule(call_.root, ranks)) + total * (ranks - 1) / looked_at;
  }

  /// Nothing, if many ranks' rates of flows would take long.
  [[nodiscard]] std::optional<double> evaluate_all(const Machine& machine, const Barrier* barrier) const {
    std::vector<Schedule> schedules;
    for (int r = 0; r < machine.ranks(); ++r) schedules.push_back(schedule(r, machine.ranks()));
    const auto in_order = [&](std::uint32_t order) -> std::optional<double> {
      if (barrier != nullptr && machine.ranks() > 1) return evaluate_as_timed(schedules, machine, *barrier, order);
      EvaluationOptions options;
      options.order = order;
      if (machine.ranks() > many_ranks) options.max_rate_updates = most_rate_updates;
      const Evaluation evaluation = evaluate(schedules, machine, options);
      return evaluation.given_up ? std::nullopt : std::optional(evaluation.seconds);
    };
    // Where ranks share cores nobody knows in which order they have their turns. Short calls depend on it: the median
    // of some.
    const std::optional<double> first = in_order(1);
    const double short_s = long_rounds * machine.turn_s() * machine.ranks_on_cores();
    if (!first || machine.cores() == 0 || machine.ranks() > few_ranks_on_shared_cores || *first > short_s) return first;
    std::vector<double> seconds{*first};
    for (std::uint32_t order = 2; order <= orders_of_turns; ++order) seconds.push_back(*in_order(order));
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
  }

  [[nodiscard]] double evaluate_period(const Machine& machine, const Symmetry& symmetry) const {
    std::vector<Schedule> schedules;
    for (int r = 0; r < symmetry.period; ++r) schedules.push_back(schedule(r, machine.ranks()));
    return CostSimulation(schedules, machine, symmetry, {}).run().seconds;
  }

  /// Long messages: what twice as many bytes take more, they always take more.
  [[nodiscard]] double over_bytes(const Machine& machine, const Barrier* barrier) const {
    Call call = call_;
    const auto shorter = [&] { return Predictor(call, algorithm_, parameters_); };
    do {
      call.bytes /= 2;
    } while (shorter().total_pieces(machine.ranks()) > most_pieces / 2 && call.bytes > call.element_bytes * 2);
    // Blocks of bcast and allreduce: powers of two divide alike.
    const double more = static_cast<double>(call.bytes);
    const double twice = *shorter().evaluate_all(machine, barrier);
    call.bytes /= 2;
    const double once = *shorter().evaluate_all(machine, barrier);
    return twice + (twice - once) * 2 * (static_cast<double>(call_.bytes) - more) / more;
  }

  Call call_;
  const Algorithm& algorithm_;
  Parameters parameters_;
};

}  // namespace

double predict_from_fewer_ranks(const Call& call, const Algorithm& algorithm, const Parameters& parameters,
                                const Machine& machine) {
  return Predictor(call, algorithm, parameters).over_ranks(machine);
}

std::string_view name(Method method) {
  switch (method) {
    case Method::evaluated: return "evaluated";
    case Method::symmetric: return "symmetric";
    case Method::extrapolated: return "extrapolated";
  }
  return "?";
}

Problem problem_of(const Call& call, int rank, int size, const Algorithm& algorithm, const Parameters& parameters) {
  Problem p{call.collective, rank, size, call.root, call.bytes, call.element_bytes, call.commutative};
  p.parameters = resolve_parameters(algorithm, parameters);
  if (is_irregular(call.collective)) set_equal_blocks(p, algorithm.knowledge);
  return p;
}

std::optional<Prediction> predict(const Call& call, const Algorithm& algorithm, const Parameters& parameters,
                                  const Machine& machine, const Barrier* barrier) {
  const Predictor predictor(call, algorithm, parameters);
  if (!predictor.supported(machine.ranks())) return std::nullopt;
  if (algorithm.multicasts && !machine.profile().multicast.works) return std::nullopt;
  return predictor.predict(machine, barrier);
}

}  // namespace antiphon
