// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "antiphon/problem.hpp"
#include "antiphon/schedule.hpp"

namespace antiphon {

/// A message of a communication pattern.
struct PatternMessage {
  int from = 0;
  int to = 0;
  std::int64_t bytes = 0;
  bool operator==(const PatternMessage&) const = default;
};

/// Paper 1's communication pattern (§4.2): which ranks send how many bytes to which, as one value that is equal on all
/// ranks.
struct Pattern {
  int size = 0;  ///< ranks
  /// Each pair occurs at most once; no message is empty or to its own sender. Of two messages of equal size, schedulers
  /// take the earlier one first.
  std::vector<PatternMessage> messages;

  /// From the counts that an allgather brings together: bytes[from · size + to]. Leaves out what a rank keeps and empty
  /// messages; the others come in this order.
  static Pattern of_counts(int size, std::span<const std::int64_t> bytes);
  /// Drops empty messages and those of a rank to itself. Throws InvalidArgument for ranks that do not exist and for
  /// pairs that occur twice.
  static Pattern of_messages(int size, std::vector<PatternMessage> messages);
  /// The rank's Alltoallv problem with this pattern: blocks one after the other, none to itself.
  [[nodiscard]] Problem problem(int rank) const;
  [[nodiscard]] std::int64_t total_bytes() const;
  /// A hash that is the same on every machine and for any order of the messages.
  [[nodiscard]] std::uint64_t hash() const;
  bool operator==(const Pattern&) const = default;
};

/// What schedulers know of the machine. The defaults are one switch of 100 Mb/s and one rank per node.
struct Fabric {
  double link_bytes_per_s = 11.95e6;       ///< of a node's link, as MPI's data see it
  std::int64_t latency_ns = 100'000;       ///< of a short message
  std::int64_t barrier_ns = 0;             ///< 0: a latency · log2(ranks)
  std::int64_t port_buffer_bytes = 65536;  ///< bytes that may be under way to one node without loss
  std::vector<int> node_of_rank;           ///< empty: every rank has a node of its own
  std::vector<int> switch_of_node;         ///< empty: one switch
  double uplink_bytes_per_s = 0;           ///< of a switch's link to all others; 0: never the limit

  [[nodiscard]] int node(int rank) const {
    return node_of_rank.empty() ? rank : node_of_rank[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] int switch_of(int node) const {
    return switch_of_node.empty() ? 0 : switch_of_node[static_cast<std::size_t>(node)];
  }
};

/// A message, or a part of one that was split, in a phase.
struct Part {
  int from = 0;
  int to = 0;
  std::int64_t offset_bytes = 0;  ///< within the message
  std::int64_t bytes = 0;
  bool operator==(const Part&) const = default;
};

/// Parts that go at the same time. No node sends two or receives two, except with `together`: these are small messages,
/// for which contention costs less than synchronisation.
struct PhaseOfParts {
  std::vector<Part> parts;
  bool together = false;
  bool operator==(const PhaseOfParts&) const = default;
};

/// A pattern in phases, which a scheduler makes and level 3 of compiled communication takes.
struct Phases {
  int size = 0;
  std::string scheduler;  ///< its name
  std::vector<PhaseOfParts> phases;

  /// The pattern that it realises, sorted by (from, to).
  [[nodiscard]] Pattern pattern() const;
  bool operator==(const Phases&) const = default;
};

/// What keeps phases apart.
enum class Synchronisation : std::uint8_t {
  none,      ///< the order of sending alone
  tokens,    ///< a receiver tells the sender of its next part when the part before has all but come in
  grants,    ///< a receiver grants every piece: credit in bytes
  barrier,   ///< a barrier between phases, as in paper 1
  lockstep,  ///< tokens, and a rank sends no faster than it receives, which keeps ranks from drifting apart
};
inline constexpr int synchronisation_count = 5;
std::string_view name(Synchronisation synchronisation);
std::optional<Synchronisation> synchronisation_from_name(std::string_view name);

struct SchedulerOptions {
  /// Messages shorter than this need no phase of their own. Below 0: small_threshold().
  std::int64_t small_bytes = -1;
};

/// One way from a pattern to phases. Each lives in src/phases/schedulers/<name>.cpp as
/// antiphon::scheduler_<name>::scheduler; the registry is generated from those paths.
struct Scheduler {
  std::string_view name;
  std::string_view summary;
  /// Whether to ask it; nullptr: always. Some cost too much time for large patterns, or are only for some fabrics.
  bool (*worth)(const Pattern&, const Fabric&) = nullptr;
  /// `small_bytes`: messages shorter than this may go together.
  Phases (*build)(const Pattern&, const Fabric&, std::int64_t small_bytes);
};
std::span<const Scheduler* const> schedulers();
const Scheduler* find_scheduler(std::string_view name);

/// The length below which messages need no phases: all shorter ones together fit into any port, and none is longer than
/// 8 KiB.
std::int64_t small_threshold(const Pattern& pattern, const Fabric& fabric);

/// The time below which no schedule can come.
struct LowerBound {
  std::int64_t node_bytes = 0;    ///< most bytes into or out of one node
  std::int64_t uplink_bytes = 0;  ///< most bytes into or out of one switch
  double seconds = 0;             ///< of the slower of both
};
LowerBound lower_bound(const Pattern& pattern, const Fabric& fabric);

/// An estimate of the time that phases take with this synchronisation.
double phases_seconds(const Phases& phases, const Fabric& fabric, Synchronisation synchronisation, const Cut& cut);
/// The same where the pattern's lower bound is known already.
double phases_seconds(const Phases& phases, const Fabric& fabric, Synchronisation synchronisation, const Cut& cut,
                      const LowerBound& bound);

/// When a part is under way, as estimated for tokens and grants (links work on, phases may overlap) or for barriers.
struct TimedPart {
  Part part;
  std::size_t phase = 0;
  double begin_s = 0;
  double end_s = 0;
};
std::vector<TimedPart> time_line(const Phases& phases, const Fabric& fabric, Synchronisation synchronisation,
                                 const Cut& cut);

/// How a part is cut and how many pieces a receiver lets be under way to it.
inline constexpr Cut default_phase_cut{8192, 2};

/// A pattern's phases and how to run them.
struct CompiledPattern {
  Phases phases;
  Synchronisation synchronisation = Synchronisation::none;
  Cut cut = default_phase_cut;
  std::int64_t expected_ns = 0;  ///< as estimated
  std::int64_t saves_ns = 0;     ///< over messages that all go at once, as estimated
  std::int64_t calls = 0;        ///< how often the pattern occurs in the trace it comes from; 0: not from a trace
  bool operator==(const CompiledPattern&) const = default;
};

struct Candidate {
  CompiledPattern compiled;
  std::size_t phase_count = 0;
};

/// Every scheduler's phases with the synchronisation that is best for them, the best first; never empty. Every rank
/// decides alike, since the result depends only on the arguments.
std::vector<Candidate> schedule_all(const Pattern& pattern, const Fabric& fabric, const SchedulerOptions& options = {});
/// The best of those that are quick enough for a decision at run time (level 1): less than a second for a dense pattern
/// of 1,024 ranks.
CompiledPattern compile_pattern(const Pattern& pattern, const Fabric& fabric, const SchedulerOptions& options = {});

/// The part of p.rank in an Alltoallv in these phases. `p` gives the blocks' offsets and must have the pattern's sizes,
/// else this throws InvalidArgument. What the rank keeps for itself is copied.
///
/// No deadlock, whichever synchronisation: all ranks take the phases in the same order; an operation waits only for
/// operations of earlier phases, for the permission of its own part, or for earlier pieces of its part, and a
/// permission only for what its rank received in earlier phases.
Schedule schedule_of(const Phases& phases, const Problem& p, Synchronisation synchronisation,
                     const Cut& cut = default_phase_cut);
inline Schedule schedule_of(const CompiledPattern& c, const Problem& p) {
  return schedule_of(c.phases, p, c.synchronisation, c.cut);
}

/// Returns what is wrong with the phases, or nothing: parts outside their message, missing or doubled bytes, a node
/// that sends or receives two parts in a phase that is not `together`.
std::optional<std::string> check_phases(const Phases& phases, const Pattern& pattern, const Fabric& fabric);

/// Runs the schedules of all ranks in this process in random order and compares every byte. Returns what is wrong, or
/// nothing.
std::optional<std::string> verify_phases(const CompiledPattern& compiled, std::uint64_t seed);

/// JSON in the form of docs/reference/plan-format.md. Reading: FormatError that names the field.
std::string to_json(const Pattern& pattern);
std::string to_json(const Phases& phases);
Pattern pattern_from_json(std::string_view json);
/// {"link_bytes_per_s": …, …} with whole numbers; a missing field has its default.
Fabric fabric_from_json(std::string_view json);
Phases phases_from_json(std::string_view json);

/// The content of a plan file of `antiphon compile`: patterns of Alltoallv calls, each with its schedule.
struct CompiledPlan {
  std::vector<CompiledPattern> patterns;
  bool operator==(const CompiledPlan&) const = default;
};
std::string to_json(const CompiledPlan& plan);
CompiledPlan compiled_plan_from_json(std::string_view json);

}  // namespace antiphon
