// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace antiphon {

/// A curve gives seconds as a function of a message's bytes: straight lines between measured points. Two points of the
/// same size are a jump (an eager limit), and that size itself still takes the first point's time. Below the first
/// point its time holds, and beyond the last point the last line continues.
class Curve {
 public:
  struct Point {
    std::int64_t bytes = 0;
    double seconds = 0;
    bool operator==(const Point&) const = default;
  };

  Curve() = default;
  /// Takes points in ascending order of size, with at most two of the same size.
  explicit Curve(std::vector<Point> points) : points_(std::move(points)) {}
  /// Returns a straight line: base + bytes / rate.
  static Curve line(double base_s, double bytes_per_s);
  /// Returns what this is where no more than so many bytes a second follow the first one.
  [[nodiscard]] Curve at_most(double bytes_per_s) const;

  [[nodiscard]] double at(std::int64_t bytes) const;
  [[nodiscard]] std::span<const Point> points() const { return points_; }
  bool operator==(const Curve&) const = default;

 private:
  std::vector<Point> points_;
};

/// Says how near two ranks are.
enum class Scope : std::uint8_t {
  core,         ///< processing units that share a core or its caches
  socket,       ///< of one socket
  node,         ///< of one node
  same_switch,  ///< nodes on one switch ("switch" in the document)
  uplink,       ///< nodes on different switches
};
std::string_view name(Scope scope);

/// pLogP of one kind of link (paper 5, Section 2). A message of m bytes from a rank that is ready to one that waits for
/// it takes latency + gap(m); its sender's processor is busy for send_overhead(m), its receiver's for
/// receive_overhead(m); the next message can follow gap(m) later.
struct LinkClass {
  /// What a message takes that a schedule moves through memory which the two ranks share.
  struct SharedMemory {
    double latency_s = 0;
    Curve gap;
    /// From this length on the receiver copies a message from its sender's memory; 0: unknown, or never.
    std::int64_t fetched_from_bytes = 0;
  };

  std::string name;
  Scope scope = Scope::same_switch;
  double latency_s = 0;
  Curve send_overhead;                     ///< os
  Curve receive_overhead;                  ///< or
  Curve gap;                               ///< g
  std::int64_t eager_bytes = INT64_MAX;    ///< longer messages wait until their receive is posted
  std::int64_t send_buffer_bytes = 65536;  ///< to one rank, that the system takes over before they are sent
  Curve crowded;  ///< what a message costs both its ranks' processors, where all ranks share cores and send; empty:
                  ///< unknown
  std::optional<bool> told_next_turn;  ///< whether a rank that shares its core learns of what has come only one turn
                                       ///< later; unknown: as a blocking receive
  Curve saturated;  ///< the same where all nodes' ports are full both ways, packets included; empty: unknown, or cores
                    ///< had time left
  double connection_bytes_per_s = 0;      ///< of what two ranks send each other, both directions together; 0: no limit
  double connection_way_bytes_per_s = 0;  ///< of what one rank sends another, one direction; 0: no limit
  std::optional<SharedMemory> shared_memory;  ///< empty: unknown, or not possible

  /// Returns what one connection carries one way between ports of this rate.
  [[nodiscard]] double one_connection(double port_bytes_per_s) const;
};

struct SwitchEntry {
  std::string name;
  int parent = -1;                       ///< index of the switch above; −1: the top
  double uplink_bytes_per_s = 0;         ///< to the parent, each direction
  std::int64_t uplink_buffer_bytes = 0;  ///< of its ports; 0: as a node's port
};

struct NodeEntry {
  std::string name;
  int switch_index = 0;
  double port_bytes_per_s = 0;  ///< payload, each direction
  double burst_bytes =
      0;  ///< that pass at once after a pause: a shaped link's token bucket (emulated and cloud networks)
};

/// Describes the links between nodes: where each node is, and what the nodes share.
struct Topology {
  std::vector<SwitchEntry> switches;
  std::vector<NodeEntry> nodes;
};

struct Contention {
  struct Incast {
    int senders = 0;
    std::int64_t bytes = 0;
    double ratio = 1;
  };
  struct Gamma {
    int ranks = 0;
    double gamma = 0;
  };
  std::vector<Gamma> gamma;       ///< paper 5, Section 5, by number of ranks, ascending
  std::vector<Incast> incast;     ///< several senders, one receiver: time relative to the same bytes from one sender
  std::int64_t credit_bytes = 0;  ///< that may be under way to one node without loss; 0: unknown
  std::int64_t port_buffer_bytes = 0;   ///< of a switch's port; 0: unknown
  double retransmission_timeout_s = 0;  ///< what a lost tail costs; 0: unknown

  /// Returns γ for this many ranks, by straight lines between the measured numbers of ranks.
  [[nodiscard]] std::optional<double> gamma_at(int ranks) const;
};

/// Describes what computing costs next to communicating.
struct Processors {
  struct Turn {
    double ranks_on_core = 0;
    double seconds = 0;
  };
  int cores_per_node = 0;   ///< that the measured ranks were on; 0: unknown, taken as at least one per rank
  int nodes_sharing = 1;    ///< nodes that share these cores (an emulated cluster)
  double turn_s = 0;        ///< a rank that waits for nothing but its turn holds a shared core this long
  std::vector<Turn> turns;  ///< the same with other numbers of ranks on a core, ascending
  double copy_bytes_per_s = 4e9;
  double reduce_bytes_per_s = 2e9;
  int sockets_per_node = 0;     ///< sockets are alike, and cores are numbered socket by socket; 0: unknown
  double rank_bytes_per_s = 0;  ///< that one rank moves to and from other nodes, both directions together; 0: no limit
  int physical_cores = 0;       ///< of a node, each once however many threads it has, bound to or not; 0: unknown

  /// Returns the cores of a node that any ranks may be on: those that were measured may have been bound to few of them.
  [[nodiscard]] int cores() const { return std::max(cores_per_node, physical_cores); }
  /// Returns the turn with this many ranks on a core, by straight lines between the measured numbers of ranks. The
  /// number matters because a core's caches hold the memory of fewer ranks better.
  [[nodiscard]] double turn_with(double ranks_on_core) const;
};

/// Describes what an exchange gains from sending two messages at once (paper 4, Section 4.1).
struct Concurrency {
  int index = 1;                      ///< messages at once that are worth it
  double two_destinations_ratio = 0;  ///< time of two at once to different ranks over that of one; 0: unknown
  double two_directions_ratio = 0;    ///< time of a message each way over that of one; 0: unknown

  /// Tells whether it was measured.
  [[nodiscard]] bool known() const { return two_destinations_ratio > 0; }
};

/// Describes multicast between the nodes, as the transport does it.
struct MulticastLink {
  bool works = false;    ///< every node hears every other
  double latency_s = 0;  ///< a message of m bytes reaches the last of `nodes` nodes latency + gap(m) after it is sent
  Curve gap;
  double acknowledge_s = 0;  ///< from then until its sender knows that all nodes have it
  double loss = 0;           ///< share of packets
  double crowded_s = 0;      ///< core time per receiver of a short one while all multicast in turn; 0: unknown
};

struct MachineName {
  std::string name;
  int nodes = 0;
  int ranks_per_node = 1;
  std::string mpi;  ///< "openmpi", "mpich", "mpiabi"; empty: unknown
  std::string mpi_version;
  std::string transport;
  std::string fingerprint;  ///< equal on the machine that was measured; empty: unknown
};

/// What a run finds out about its nodes without measuring.
struct HostFacts {
  int cores_per_node = 0;                  ///< 0: unknown
  int nodes_sharing = 1;                   ///< so many nodes are on one machine, and share its cores
  std::int64_t link_burst_bytes = 0;       ///< that pass a shaped link at once after a pause, headers included
  double turn_s = 0;                       ///< how long a rank that waits holds its core; 0: unknown
  std::int64_t connection_bits_per_s = 0;  ///< of one connection, headers included; 0: it fills the link
};

/// A measured machine: the document that `probe` writes (docs/reference/profile.md). Rules::of_profile reads its
/// decisions, and the compression code reads its codecs.
struct Profile {
  MachineName machine;
  std::vector<LinkClass> link_classes;  ///< nearest scope first
  Topology topology;
  Contention contention;
  Processors processors;
  Concurrency concurrency;
  MulticastLink multicast;
  bool first_guess = false;  ///< made by guess(), not measured

  /// Throws FormatError naming the field: "link_classes[1].g_s[3]: …". The error tells truncated documents, documents
  /// of another format and documents of a newer version apart.
  static Profile parse(std::string_view json);
  /// Returns what is assumed of a machine that was not measured: one switch, and TCP's usual costs at this link rate.
  static Profile guess(int nodes, int ranks_per_node, double link_bits_per_s);
  /// Returns the bytes that may be under way to a port of such a link: what it usually holds, and what is on the way
  /// there and back.
  static std::int64_t guessed_credit_bytes(double link_bits_per_s);
  /// Adds what a run knows besides: cores that nodes share, and what passes a shaped link at once. Changes only a
  /// guess.
  void refine_guess(const HostFacts& facts);

  /// Returns the machine as schedules see it that move messages within nodes through shared memory, where that was
  /// measured: these links are as fast as it is. Without it, and for a library, links are as they are.
  [[nodiscard]] Profile sharing_memory() const;
  /// Returns the class for ranks this near; where none was measured, the next wider one, or else the next nearer one.
  [[nodiscard]] const LinkClass& link_class(Scope scope) const;
  /// Returns a node's payload rate: the lowest of the topology's ports.
  [[nodiscard]] double port_bytes_per_s() const;
};

}  // namespace antiphon
