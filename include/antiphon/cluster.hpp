// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "antiphon/index.hpp"
#include "antiphon/places.hpp"
#include "antiphon/profile.hpp"

namespace antiphon {

/// A level of a regular tree of switches.
struct TreeLevel {
  int nodes = 0;                  ///< below each of its switches
  double uplink_bytes_per_s = 0;  ///< of each of its switches, each direction
};

/// A cluster is a set of ranks placed on the nodes of a measured machine, which a profile describes. A cluster with
/// more nodes than the machine repeats the machine.
class Cluster {
 public:
  /// Places rank r on node node_of_rank[r].
  Cluster(Profile profile, std::vector<int> node_of_rank);
  /// Places `ranks_per_node` consecutive ranks on each node.
  static Cluster blocked(const Profile& profile, int ranks, int ranks_per_node);
  /// Places rank r on node r mod `nodes`.
  static Cluster round_robin(const Profile& profile, int ranks, int nodes);

  [[nodiscard]] const Profile& profile() const { return profile_; }
  [[nodiscard]] int ranks() const { return static_cast<int>(node_of_rank_.size()); }
  [[nodiscard]] int nodes() const { return nodes_; }
  [[nodiscard]] int node(int rank) const { return node_of_rank_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::span<const int> node_of_rank() const { return node_of_rank_; }
  /// Returns the node's entry in the topology.
  [[nodiscard]] const NodeEntry& entry(int node) const;
  [[nodiscard]] Scope scope(int a, int b) const;
  [[nodiscard]] const LinkClass& link(int from, int to) const { return profile_.link_class(scope(from, to)); }
  /// Returns the class of the first rank's longest way: between nodes where there are several, in whatever order ranks
  /// are dealt to them.
  [[nodiscard]] const LinkClass& longest_link() const { return profile_.link_class(longest_); }
  /// Shifting all ranks by this number changes nothing, or in a regular tree of switches nothing but which messages
  /// cross which links. It is the number of ranks where there is no symmetry.
  [[nodiscard]] int period() const { return period_; }
  /// Returns the levels below the top, the nodes' own switches first, where all nodes are alike, evenly filled and in
  /// the order of a tree in which all switches of a level are alike. It is empty elsewhere, and with one switch.
  [[nodiscard]] std::span<const TreeLevel> tree() const { return tree_; }
  /// Returns the share of all messages over this distance that cross the links of a level. Distances add up, or with
  /// `exchange` they are exclusive or.
  [[nodiscard]] double crossing(const TreeLevel& level, int from_node, int to_node, bool exchange) const;
  /// Returns the class of most messages over the distance from one rank to another in a regular tree, else link().
  [[nodiscard]] const LinkClass& link_of_most(int from, int to, bool exchange) const;
  /// Returns how many ranks share cores where it is most, and how many cores those are. Zero cores mean that each rank
  /// has a core of its own.
  [[nodiscard]] int ranks_on_cores() const { return ranks_on_cores_; }
  [[nodiscard]] int cores() const { return cores_; }
  /// Returns the number of ranks on each of the shared cores, or 0 if no cores are shared.
  [[nodiscard]] double ranks_on_core() const { return cores_ > 0 ? static_cast<double>(ranks_on_cores_) / cores_ : 0; }
  /// Returns how long a waiting rank holds its core when this many ranks share it.
  [[nodiscard]] double turn_s() const { return profile_.processors.turn_with(ranks_on_core()); }
  /// Puts the ranks along the tree of switches and nodes, as a run does.
  [[nodiscard]] Places places(std::optional<int> root = std::nullopt) const {
    return places_along(node_of_rank_, profile_.topology, root);
  }
  /// Returns the cluster as our schedules see it (Profile::sharing_memory).
  [[nodiscard]] Cluster sharing_memory() const { return {profile_.sharing_memory(), node_of_rank_}; }
  /// Returns a cluster of the same kind with another number of ranks. A regular tree with fewer nodes keeps its shape,
  /// and each node its share of the links.
  [[nodiscard]] Cluster resized(int ranks) const;

 private:
  void count();

  Profile profile_;
  std::vector<int> node_of_rank_;
  int nodes_ = 0;
  int period_ = 0;
  Scope longest_ = Scope::core;
  int ranks_on_cores_ = 1;
  int cores_ = 0;
  std::vector<TreeLevel> tree_;
};

}  // namespace antiphon
