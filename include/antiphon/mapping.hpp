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

/// Process mapping (paper 2): from traffic and a machine to an assignment of ranks to cores.
namespace antiphon::mapping {

struct TrafficEntry {
  int from = 0;
  int to = 0;
  double messages = 0;
  double bytes = 0;
  bool operator==(const TrafficEntry&) const = default;
};

/// The communication topology graph (paper 2, Section 3): message counts and volumes between ranks, stored sparsely by
/// sender.
struct TrafficGraph {
  int ranks = 0;
  std::vector<std::int64_t> first;  ///< rank r's entries are [first[r], first[r+1])
  std::vector<std::int32_t> to;     ///< ascending within a rank
  std::vector<double> messages;
  std::vector<double> bytes;

  /// Sums the entries of each pair and drops those from a rank to itself. Throws InvalidArgument for ranks that do not
  /// exist, and for counts that are negative or not numbers.
  static TrafficGraph of_entries(int ranks, std::span<const TrafficEntry> entries);
  static TrafficGraph of(const Traffic& dense);
  /// Parses {"ranks": 4, "entries": [[from, to, messages, bytes], …]}. Throws FormatError naming the field.
  static TrafficGraph parse(std::string_view json);
  /// Reads a file of either form: that JSON, or the binary format of docs/reference/mapping-files.md.
  static TrafficGraph read(const std::string& path);
  static TrafficGraph of_binary(std::string_view data);
  [[nodiscard]] std::string to_binary() const;

  [[nodiscard]] std::size_t entries() const { return to.size(); }
  [[nodiscard]] double total_bytes() const;
  [[nodiscard]] double total_messages() const;
  bool operator==(const TrafficGraph&) const = default;
};

/// The cost of a message between two cores: latency_s + bytes · seconds_per_byte (paper 2's NTG_latency, NTG_bw).
struct Distance {
  double latency_s = 0;
  double seconds_per_byte = 0;
  bool operator==(const Distance&) const = default;
};

/// A level of a node: cores with the same index / width have this distance.
struct Level {
  int width = 1;
  Distance distance;
  bool operator==(const Level&) const = default;
};

/// The structure of a node, shared by all nodes of the kind.
struct NodeKind {
  int cores = 1;
  std::vector<Level> levels;      ///< by ascending width; the last one spans the node
  std::vector<Distance> between;  ///< [core · cores + core] if levels do not describe the distances, else empty

  [[nodiscard]] const Distance& distance(int core, int other) const;
};

struct Node {
  std::string name;
  int kind = 0;
  int switch_index = 0;
  double port_bytes_per_s = 0;  ///< in each direction; 0: never the limit
};

struct Switch {
  std::string name;
  int parent = -1;                ///< −1: the topmost switch
  double uplink_bytes_per_s = 0;  ///< to the parent, in each direction; 0: never the limit
  Distance within;                ///< between two nodes on this switch itself
  Distance across;                ///< between two other nodes with this nearest common switch
};

/// Nodes on a grid with wrap-around links. Node (x, y, z) has number (x · dims[1] + y) · dims[2] + z. Messages travel
/// along the first dimension first.
struct Torus {
  std::vector<int> dims;
  double link_bytes_per_s = 0;
};

/// The network topology graph: a tree of switches, a torus, or measured distances between any two nodes or cores.
struct Machine {
  std::string name;
  std::vector<NodeKind> kinds;
  std::vector<Node> nodes;
  std::vector<Switch> switches;
  std::optional<Torus> torus;
  std::vector<Distance> between_nodes;  ///< [node · nodes + node]; empty: the switches determine them
  std::vector<Distance> between_cores;  ///< [core · cores + core] of the machine; empty: nodes and kinds determine them

  /// Parses {"nodes": …, "switches": …, …} (docs/reference/mapping-files.md) or a profile. Throws FormatError naming
  /// the field.
  static Machine parse(std::string_view json);
  /// Returns the measured machine. If `cores_per_node` is 0, the profile tells the number. Costs are linearised around
  /// messages of `message_bytes`.
  static Machine of_profile(const Profile& profile, int cores_per_node = 0, double message_bytes = 65536);

  [[nodiscard]] int node_count() const { return static_cast<int>(nodes.size()); }
  [[nodiscard]] int cores(int node) const {
    return kinds[static_cast<std::size_t>(nodes[static_cast<std::size_t>(node)].kind)].cores;
  }
  [[nodiscard]] int cores() const;
  [[nodiscard]] const Distance& node_distance(int node, int other) const;
  /// Tells whether the rate of any link is known.
  [[nodiscard]] bool knows_links() const;
  /// Number of links that a message between two nodes crosses; 0 for a node to itself.
  [[nodiscard]] int hops(int node, int other) const;
  [[nodiscard]] int common_switch(int node, int other) const;
  /// Throws InvalidArgument if the parts contradict each other.
  void check() const;
};

struct Pin {
  int rank = 0;
  int node = 0;
  int core = -1;  ///< −1: any core of the node
};

struct Constraints {
  std::vector<Pin> pins;
  int ranks_per_core = 1;      ///< more than 1 is used only if there are more ranks than cores
  int max_ranks_per_node = 0;  ///< 0: as many as there are slots
};

/// A slot has room for one rank. Slots are numbered node by node. Where ranks share cores, slot s of a node is core
/// s mod cores.
struct Slots {
  std::vector<int> first;  ///< by node, with one more entry at the end
  std::vector<int> node;   ///< by slot
  std::vector<int> core;   ///< by slot: number within the node

  [[nodiscard]] int count() const { return static_cast<int>(node.size()); }
};

struct Assignment {
  std::vector<int> slot_of_rank;
  bool operator==(const Assignment&) const = default;
};

/// What is minimised.
enum class Objective : std::uint8_t {
  automatic,  ///< `time` if the rates of the machine's links are known, else `messages`
  messages,   ///< the sum of the times of all messages (paper 2)
  time,       ///< the predicted time, including link congestion
};
std::string_view name(Objective objective);

/// All that a method needs to know. The object keeps copies of its arguments. The constructor throws InvalidArgument
/// with a hint if the ranks do not fit the machine.
class Task {
 public:
  Task(TrafficGraph traffic, Machine machine, Constraints constraints = {}, Objective objective = Objective::automatic);

  [[nodiscard]] const TrafficGraph& traffic() const { return traffic_; }
  [[nodiscard]] const Machine& machine() const { return machine_; }
  [[nodiscard]] const Constraints& constraints() const { return constraints_; }
  [[nodiscard]] const Slots& slots() const { return slots_; }
  /// Never returns `automatic`.
  [[nodiscard]] Objective objective() const { return objective_; }
  [[nodiscard]] int ranks() const { return traffic_.ranks; }
  [[nodiscard]] const Distance& distance(int slot, int other) const;
  [[nodiscard]] int node_of(const Assignment& assignment, int rank) const {
    return slots_.node[static_cast<std::size_t>(assignment.slot_of_rank[static_cast<std::size_t>(rank)])];
  }
  /// The pin of a rank (node, and core or −1), or nullptr if it has none.
  [[nodiscard]] const Pin* pin_of(int rank) const;
  /// Says what is wrong with an assignment: missing slots, slots used twice, pins, or nodes that are too full.
  [[nodiscard]] std::optional<std::string> check(const Assignment& assignment) const;

 private:
  TrafficGraph traffic_;
  Machine machine_;
  Constraints constraints_;
  Objective objective_;
  Slots slots_;
  std::vector<int> core_numbers_;  ///< by node: its first core in between_cores, with one more entry at the end
  std::vector<int> pin_of_rank_;
};

/// A link and its traffic.
struct LinkLoad {
  std::string name;  ///< "node03 out", "switch 1 up", "(0, 1, 2) +x"
  double bytes = 0;
  double bytes_per_s = 0;
  [[nodiscard]] double seconds() const { return bytes_per_s > 0 ? bytes / bytes_per_s : 0; }
};

/// The expected cost of an assignment.
struct Costs {
  double messages_s = 0;      ///< Σ messages · latency + bytes · seconds_per_byte over all ordered pairs
  double congestion_s = 0;    ///< largest bytes / rate among the links of known rate
  double rank_latency_s = 0;  ///< largest Σ messages · latency of one rank's messages, in or out
  double rank_volume_s = 0;   ///< largest Σ bytes · seconds_per_byte of one rank's messages, in or out
  double predicted_s = 0;     ///< max(congestion, rank volume) + rank latency
  double hop_bytes = 0;       ///< Σ bytes · links crossed
  double between_nodes_bytes = 0;
  std::string busiest_link;
};
Costs score(const Task& task, const Assignment& assignment);
/// Returns only the sum of the times of all messages.
double messages_s(const Task& task, const Assignment& assignment);
/// Returns the value of the task's objective.
double objective_value(const Task& task, const Assignment& assignment);
/// Returns every link that has traffic, the most loaded first.
std::vector<LinkLoad> link_loads(const Task& task, const Assignment& assignment);

/// Converts a placement by nodes, made elsewhere: each rank gets the lowest free slot of its node. Throws
/// InvalidArgument if the ranks do not fit.
Assignment assignment_of_nodes(const Task& task, std::span<const int> node_of_rank);

struct Budget {
  double seconds = 0.1;  ///< processor time after which methods that search stop; others ignore it
  std::uint64_t seed = 1;
};

/// A method that maps a task to an assignment. Each is a file src/mapping/methods/<name>.cpp that defines
/// antiphon::mapping::method_<name>::method; the registry is generated from those paths.
struct Method {
  std::string_view name;
  std::string_view summary;
  /// nullptr: always available. Otherwise returns why the method cannot be used (an optional library is missing), or
  /// "".
  std::string (*unavailable)();
  /// Returns an assignment that the task's check accepts. Throws Error if the method cannot serve the task.
  Assignment (*place)(const Task& task, const Budget& budget);
};
std::span<const Method* const> methods();
const Method* find_method(std::string_view name);

}  // namespace antiphon::mapping
