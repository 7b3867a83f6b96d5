// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "antiphon/algorithm.hpp"

namespace antiphon {

class JsonNode;

/// Lists what a choice may depend on: only what all ranks of the communicator know to be equal (ARCHITECTURE, decision
/// 1).
struct Question {
  Collective collective = Collective::barrier;
  int ranks = 1;
  int nodes = 1;
  int max_ranks_per_node = 1;
  /// The block (m of problem.hpp); scatterv, gatherv, alltoallv: unknown to all alike, hence −1; allgatherv,
  /// reduce_scatter: the mean block, rounded down.
  std::int64_t bytes = 0;
  std::int64_t element_bytes = 1;
  bool commutative = true;
  std::int64_t link_bits_per_s = 0;    ///< of a node's link; 0: unknown
  std::string_view transport = "tcp";  ///< of messages between nodes: "tcp" over Ethernet, "other"; empty: unknown
  bool blocked = true;     ///< each node's ranks follow one another, so that rings and chains cross a link once
  bool multicasts = true;  ///< a multicast is one message on the wire here; false: answers that multicast are skipped
  std::string_view mpi;    ///< the library that is the alternative: "openmpi", "mpich"; empty: another, or unknown
  /// A reduction gives the same bits in whatever order it works, as of whole numbers; true for all that reduce nothing.
  bool exact = true;
  bool nonblocking = false;  ///< the alternative is the library's nonblocking call
  /// How far apart in MPI_COMM_WORLD the ranks are: 1 for the world and rows of a grid, the width for its columns; 0:
  /// differently far.
  int stride = 1;
  int max_ranks_per_switch = 0;  ///< 0: one switch, or unknown
  bool shares_cores = false;     ///< the program has more ranks on a machine than that has cores, as far as is known
};

/// The answer: an algorithm with all its parameters, or none: the library's own collective.
struct Choice {
  const Algorithm* algorithm = nullptr;
  Parameters parameters;
  std::string reason;    ///< the rule that matched, for people
  bool planned = false;  ///< the rule is a plan's
  double saves_s = 0;    ///< what the plan expects that a call saves

  /// Returns "library", "rotated" or "rotated:piece_bytes=16384,window=2": the form that parse_choice takes.
  [[nodiscard]] std::string to_string() const;
};

/// Reads "library" or "ALGORITHM[:PARAMETER=VALUE,…]". Throws InvalidArgument naming what is wrong.
Choice parse_choice(Collective collective, std::string_view text);

/// An ordered table of rules, read from JSON; the first rule that matches decides. The default table (rules.json,
/// embedded) is right for Ethernet; a profile's "decisions" have the same form and come first.
///
///     {"version": 1, "rules": [
///       {"collective": "alltoall", "bytes": [8192, null], "ranks": [3, null], "ranks_per_node": [1, 1],
///        "nodes": [2, null], "link_bits_per_s": [0, 10000000000], "commutative": true, "blocked": true,
///        "transport": "tcp", "mpi": "openmpi",
///        "use": "rotated:piece_bytes=16384,window=2", "why": "…"}]}
///
/// Every bound is inclusive and may be left out; null means none. "use" may be "library", "collective" may be "*". A
/// rule with a bound on bytes does not match a question whose size is unknown. docs/reference/rules.md describes the
/// form.
class Rules {
 public:
  /// Throws FormatError naming the field, e.g. "rules[3].bytes: expected [min, max]".
  static Rules parse(std::string_view json);
  /// Returns the rules of a profile's "decisions" (which may be absent), followed by the default table.
  static Rules of_profile(std::string_view json);
  /// Returns the decisions of a plan, then of a profile, then the default table; each text may be empty.
  static Rules of_run(std::string_view plan, std::string_view profile);
  /// Throws FormatError for a document that is no table of a plan.
  static void check(const JsonNode& decisions);
  /// Returns the embedded default table.
  static const Rules& defaults();

  /// Returns the choice of the first matching rule with an algorithm that supports the problem, or no algorithm where
  /// no rule has one. The answer lives as long as the table, and asking allocates nothing.
  [[nodiscard]] const Choice& choose(const Question& question) const;
  /// Like choose(), but the table's "library" answers are skipped: what Antiphon would use if it must.
  [[nodiscard]] const Choice& choose_own(const Question& question) const;

  /// Tells whether a rule for one node alone names an algorithm, for some call of the collective with this MPI library
  /// and where ranks share cores or do not.
  [[nodiscard]] bool act_on_one_node(Collective collective, std::string_view mpi, bool shares_cores) const;

  /// Tells whether a rule of a profile answers: one that was measured here, not the default table.
  [[nodiscard]] bool decides(const Question& question) const;

  ~Rules();
  Rules(Rules&&) noexcept;
  Rules& operator=(Rules&&) noexcept;

 private:
  Rules();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace antiphon
