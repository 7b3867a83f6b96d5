// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "antiphon/matrix.hpp"
#include "antiphon/profile.hpp"

/// Which rank goes where (paper 2): traffic and a machine in, an assignment out.
namespace antiphon::mapping {

struct TrafficEntry {
  int from = 0;
  int to = 0;
  double messages = 0;
  double bytes = 0;
  bool operator==(const TrafficEntry&) const = default;
};

/// The communication topology graph (paper 2, Section 3): message counts and volumes between ranks, sparse, by sender.
struct TrafficGraph {
  int ranks = 0;
  std::vector<std::int64_t> first;  ///< rank r's entries are [first[r], first[r+1])
  std::vector<std::int32_t> to;     ///< ascending within a rank
  std::vector<double> messages;
  std::vector<double> bytes;

  /// Sums entries of a pair, drops those of a rank to itself. Throws InvalidArgument for ranks that do not exist, and
  /// for counts that are negative or no numbers.
  static TrafficGraph of_entries(int ranks, std::span<const TrafficEntry> entries);
  static TrafficGraph of(const Traffic& dense);
  /// {"ranks": 4, "entries": [[from, to, messages, bytes], …]}. Throws FormatError naming the field.
  static TrafficGraph parse(std::string_view json);
  /// A file of either form: that JSON, or the binary of docs/reference/mapping-files.md.
  static TrafficGraph read(const std::string& path);
  static TrafficGraph of_binary(std::string_view data);
  [[nodiscard]] std::string to_binary() const;

  [[nodiscard]] std::size_t entries() const { return to.size(); }
  [[nodiscard]] double total_bytes() const;
  [[nodiscard]] double total_messages() const;
  bool operator==(const TrafficGraph&) const = default;
};

/// What a message costs between two places: latency_s + bytes · seconds_per_byte (paper 2's NTG_latency, NTG_bw).
struct Distance {
  double latency_s = 0;
  double seconds_per_byte = 0;
  bool operator==(const Distance&) const = default;
};

/// A level of a node: cores with the same index / width are this near.
struct Level {
  int width = 1;
  Distance distance;
  bool operator==(const Level&) const = default;
};

/// What a node is made of; nodes of a kind share it.
struct NodeKind {
  int cores = 1;
  std::vector<Level> levels;      ///< by width, ascending; the last one spans the node
  std::vector<Distance> between;  ///< [core · cores + core] where levels do not describe it; empty: they do

  [[nodiscard]] const Distance& distance(int core, int other) const;
};

struct Node {
  std::string name;
  int kind = 0;
  int switch_index = 0;
  double port_bytes_per_s = 0;  ///< each direction; 0: never the limit
};

struct Switch {
  std::string name;
  int parent = -1;                ///< −1: the top
  double uplink_bytes_per_s = 0;  ///< to the parent, each direction; 0: never the limit
  Distance within;                ///< of two nodes on this switch itself
  Distance across;                ///< of two others whose nearest common switch this is
};

/// Nodes on a grid with wrap-around links: node (x, y, z) is number (x · dims[1] + y) · dims[2] + z. Messages go along
/// the first dimension first.
struct Torus {
  std::vector<int> dims;
  double link_bytes_per_s = 0;
};

/// The network topology graph: a tree of switches, or a torus, or whatever was measured between any two nodes or cores.
struct Machine {
  std::string name;
  std::vector<NodeKind> kinds;
  std::vector<Node> nodes;
  std::vector<Switch> switches;
  std::optional<Torus> torus;
  std::vector<Distance> between_nodes;  ///< [node · nodes + node]; empty: the switches tell
  std::vector<Distance> between_cores;  ///< [core · cores + core] of the whole machine; empty: nodes and kinds tell

  /// {"nodes": …, "switches": …, …}, docs/reference/mapping-files.md, or a profile. Throws FormatError naming the
  /// field.
  static Machine parse(std::string_view json);
  /// A measured machine. `cores_per_node` 0: what the profile says. Costs are linear around messages of
  /// `message_bytes`.
  static Machine of_profile(const Profile& profile, int cores_per_node = 0, double message_bytes = 65536);

  [[nodiscard]] int node_count() const { return static_cast<int>(nodes.size()); }
  [[nodiscard]] int cores(int node) const {
    return kinds[static_cast<std::size_t>(nodes[static_cast<std::size_t>(node)].kind)].cores;
  }
  [[nodiscard]] int cores() const;
  [[nodiscard]] const Distance& node_distance(int node, int other) const;
  /// Whether any link's rate is known.
  [[nodiscard]] bool knows_links() const;
  /// Links between two nodes that a message crosses; 0 for the node itself.
  [[nodiscard]] int hops(int node, int other) const;
  [[nodiscard]] int common_switch(int node, int other) const;
  /// Throws InvalidArgument for what does not fit together.
  void check() const;
};

struct Pin {
  int rank = 0;
  int node = 0;
  int core = -1;  ///< −1: any of the node
};

struct Constraints {
  std::vector<Pin> pins;
  int ranks_per_core = 1;      ///< more than 1 is used only where ranks outnumber cores
  int max_ranks_per_node = 0;  ///< 0: as many as there are places
};

/// One place for one rank. A machine's slots are numbered node by node; where cores are shared, a node's slot s is its
/// core s mod cores.
struct Slots {
  std::vector<int> first;  ///< of a node; one more at the end
  std::vector<int> node;   ///< of a slot
  std::vector<int> core;   ///< of a slot, within its node

  [[nodiscard]] int count() const { return static_cast<int>(node.size()); }
};

struct Assignment {
  std::vector<int> slot_of_rank;
  bool operator==(const Assignment&) const = default;
};

/// What is minimised.
enum class Objective : std::uint8_t {
  automatic,  ///< `time` where the machine's links are known, else `messages`
  messages,   ///< the sum of all messages' times (paper 2)
  time,       ///< the predicted time, with link congestion
};
std::string_view name(Objective objective);

/// All that a method needs to know. Holds what it was given; the constructor throws InvalidArgument with a hint where
/// the ranks do not fit the machine.
class Task {
 public:
  Task(TrafficGraph traffic, Machine machine, Constraints constraints = {}, Objective objective = Objective::automatic);

  [[nodiscard]] const TrafficGraph& traffic() const { return traffic_; }
  [[nodiscard]] const Machine& machine() const { return machine_; }
  [[nodiscard]] const Constraints& constraints() const { return constraints_; }
  [[nodiscard]] const Slots& slots() const { return slots_; }
  /// Never `automatic`.
  [[nodiscard]] Objective objective() const { return objective_; }
  [[nodiscard]] int ranks() const { return traffic_.ranks; }
  [[nodiscard]] const Distance& distance(int slot, int other) const;
  [[nodiscard]] int node_of(const Assignment& assignment, int rank) const {
    return slots_.node[static_cast<std::size_t>(assignment.slot_of_rank[static_cast<std::size_t>(rank)])];
  }
  /// Where a pinned rank must be: node, and core or −1; nothing for others.
  [[nodiscard]] const Pin* pin_of(int rank) const;
  /// What is wrong with an assignment: slots used twice or not there, pins, nodes too full.
  [[nodiscard]] std::optional<std::string> check(const Assignment& assignment) const;

 private:
  TrafficGraph traffic_;
  Machine machine_;
  Constraints constraints_;
  Objective objective_;
  Slots slots_;
  std::vector<int> core_numbers_;  ///< of each node's first core in between_cores; one more at the end
  std::vector<int> pin_of_rank_;
};

/// A link and what goes over it.
struct LinkLoad {
  std::string name;  ///< "node03 out", "switch 1 up", "(0, 1, 2) +x"
  double bytes = 0;
  double bytes_per_s = 0;
  [[nodiscard]] double seconds() const { return bytes_per_s > 0 ? bytes / bytes_per_s : 0; }
};

/// What an assignment is expected to cost.
struct Costs {
  double messages_s = 0;      ///< Σ messages · latency + bytes · seconds_per_byte over all ordered pairs
  double congestion_s = 0;    ///< most of bytes / rate over the links whose rate is known
  double rank_latency_s = 0;  ///< most of Σ messages · latency over one rank's messages, in or out
  double rank_volume_s = 0;   ///< most of Σ bytes · seconds_per_byte over one rank's messages, in or out
  double predicted_s = 0;     ///< max(congestion, rank volume) + rank latency
  double hop_bytes = 0;       ///< Σ bytes · links crossed
  double between_nodes_bytes = 0;
  std::string busiest_link;
};
Costs score(const Task& task, const Assignment& assignment);
/// Σ of all messages' times alone.
double messages_s(const Task& task, const Assignment& assignment);
/// What the task asks to minimise.
double objective_value(const Task& task, const Assignment& assignment);
/// Every link with traffic, the most loaded first.
std::vector<LinkLoad> link_loads(const Task& task, const Assignment& assignment);

/// Where a placement that others made puts the ranks, by node: the lowest free slot each. Throws InvalidArgument where
/// they do not fit.
Assignment assignment_of_nodes(const Task& task, std::span<const int> node_of_rank);

struct Budget {
  double seconds = 0.1;  ///< of processor time; methods that search stop then, others take what they take
  std::uint64_t seed = 1;
};

/// One way from a task to an assignment. Each lives in src/mapping/methods/<name>.cpp as
/// antiphon::mapping::methods_in::<name>; the registry is generated from those paths.
struct Method {
  std::string_view name;
  std::string_view summary;
  /// nullptr: always; else why it cannot be used here (an optional library that is not installed), empty if it can.
  std::string (*unavailable)();
  /// Always an assignment that the task's check accepts; throws Error where the method cannot serve the task.
  Assignment (*place)(const Task& task, const Budget& budget);
};
std::span<const Method* const> methods();
const Method* find_method(std::string_view name);

}  // namespace antiphon::mapping
