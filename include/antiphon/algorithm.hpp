// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "antiphon/problem.hpp"
#include "antiphon/schedule.hpp"

namespace antiphon {

/// What a parameter is for. Which of its values are worth trying follows from it (values_to_try in antiphon/cost.hpp).
enum class Role : std::uint8_t {
  piece,    ///< bytes of a message's pieces; 0 leaves it whole
  ahead,    ///< pieces or rounds that are under way to one rank
  at_once,  ///< ranks that are served, or messages that travel, at a time (the concurrency of paper 4)
  leaders,  ///< ranks of a node that send to other nodes at a time
  fanout,   ///< a tree's radix, or its children
  mode,     ///< one of few ways to do it
  border,   ///< messages of up to so many bytes are sent in another way
  amount,   ///< any other number, of which half and twice as much are tried
};
/// Returns its name: "at_once".
std::string_view name(Role role);

/// A tunable number of an algorithm.
struct Parameter {
  std::string_view name;
  Role role;
  std::int64_t default_value;
  std::int64_t min;
  std::int64_t max;
  std::string_view meaning;  ///< one line, with its unit
};

/// What an algorithm must know besides what MPI tells the calling rank.
enum class Knowledge : std::uint8_t {
  local,       ///< nothing more
  all_counts,  ///< every rank has all counts, which are told first: scatterv's, gatherv's of the root, alltoallv's
};

/// Whether the credit protocol (antiphon/credit.hpp) may carry out an alltoallv over MPI in place of its schedule.
enum class CreditWay : std::uint8_t {
  none,     ///< no: the schedule is carried out
  free,     ///< the algorithm is the protocol itself; its schedule serves only drawing and costing
  in_step,  ///< the algorithm's phases are steps that the protocol can take in step
};

/// One algorithm for one collective: the constant antiphon::<collective>_by_<name>::<collective>, defined in
/// src/collectives/<collective>/<name>.cpp. One that serves several collectives is defined once for each of them in
/// src/collectives/<collective>+<collective>/<name>.cpp, whose namespace names the first of them. The registry is
/// generated from those paths.
struct Algorithm {
  Collective collective;
  std::string_view name;
  std::string_view summary;  ///< one line: what it does and when it is good
  std::span<const Parameter> parameters = {};
  /// Whether it can solve this problem; nullptr: always. It looks only at what is equal on all ranks (size, root, bytes
  /// where all ranks have the same, element_bytes, commutative, parameters).
  bool (*supports)(const Problem&) = nullptr;
  /// Rank p.rank's part. Callers use build_schedule(), which knows what all algorithms have in common.
  Schedule (*build)(const Problem& p);
  Knowledge knowledge = Knowledge::local;
  /// Whether it only pays where a multicast is one message on the wire. Such an algorithm is used only there, or where
  /// the user asks for it.
  bool multicasts = false;
  CreditWay credit = CreditWay::none;
  /// Whether it treats blocks one by one, wherever they lie. Then ranks may stand in any order (Problem::order).
  bool any_order = false;
  /// Whether it serves the ranks of a node together (Problem::node_sizes).
  bool levels = false;
  /// Whether it only pays where one connection does not fill a port. It is used only there, or where the user asks.
  bool many_connections = false;
};

/// All algorithms, sorted by collective and name.
std::span<const Algorithm* const> algorithms();
/// Those of one collective.
std::vector<const Algorithm*> algorithms_for(Collective collective);
/// nullptr if there is none of that name.
const Algorithm* find_algorithm(Collective collective, std::string_view name);
/// The first of the collective's algorithms that is `wanted`; nullptr if there is none.
const Algorithm* find_algorithm(Collective collective, bool (*wanted)(const Algorithm&));

/// A parameter that every algorithm has besides its own: messages of at least this many bytes travel encoded. 0, or
/// absent: no message does.
inline constexpr std::string_view encode_parameter = "encode";

/// Rank p.rank's schedule, encoded if the parameters say so, and for ranks in the problem's order.
Schedule build_schedule(const Algorithm& algorithm, const Problem& p);

/// `given` completed by defaults, in the algorithm's order; `encode` comes last, and only where it is not 0. Throws
/// InvalidArgument for unknown names and values out of bounds.
Parameters resolve_parameters(const Algorithm& algorithm, const Parameters& given);

/// Whether the ranks may stand in another order than their numbers' (Problem::order) in this algorithm: the result is
/// the same, but for the order of operands that may change places. Collectives whose data is not in blocks need nothing
/// of the algorithm.
bool may_reorder(const Algorithm& algorithm, bool commutative);

inline bool supports(const Algorithm& algorithm, const Problem& problem) {
  return algorithm.supports == nullptr || algorithm.supports(problem);
}

}  // namespace antiphon
