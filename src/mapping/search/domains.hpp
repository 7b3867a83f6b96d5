// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "mapping/search/model.hpp"

namespace antiphon::mapping {

/// A machine that is halved again and again, so that near slots stay together longest. Domain 0 is the whole; children
/// follow their parents level by level.
class Domains {
 public:
  struct Domain {
    int begin = 0;  ///< index in order()
    int end = 0;
    int left = -1;  ///< −1: not halved further, because its slots are all alike
    int right = -1;
    [[nodiscard]] int size() const { return end - begin; }
  };

  explicit Domains(const Model& model);

  [[nodiscard]] const std::vector<Domain>& all() const { return domains_; }
  /// All slots; those of a domain are adjacent.
  [[nodiscard]] const std::vector<int>& order() const { return order_; }
  /// The average over some pairs of slots of two domains.
  [[nodiscard]] Model::Pair between(int domain, int other) const;
  [[nodiscard]] Model::Pair between(int domain, const Domain& other) const {
    return average(domains_[static_cast<std::size_t>(domain)], other);
  }
  /// The average over some pairs within a domain.
  [[nodiscard]] Model::Pair within(int domain) const;
  /// The dimensions of the grid of nodes, as given or as found from the distances.
  [[nodiscard]] const std::vector<int>& grid() const { return grid_; }

 private:
  using Nodes = std::vector<int>;

  [[nodiscard]] Model::Pair average(const Domain& a, const Domain& b) const;
  void halve(int domain, const Nodes& nodes);
  void halve_node(int domain, int node);
  [[nodiscard]] int core_split(int node, int begin, int end) const;
  [[nodiscard]] bool alike(int node, int begin, int end) const;
  [[nodiscard]] std::pair<Nodes, Nodes> split(const Nodes& nodes) const;
  [[nodiscard]] std::pair<Nodes, Nodes> split_grid(const Nodes& nodes) const;
  [[nodiscard]] std::pair<Nodes, Nodes> split_tree(const Nodes& nodes) const;
  [[nodiscard]] std::pair<Nodes, Nodes> split_measured(const Nodes& nodes) const;
  [[nodiscard]] int add(int begin, int end);
  [[nodiscard]] int capacity(const Nodes& nodes) const;

  const Model& model_;
  std::vector<Domain> domains_;
  std::vector<int> order_;
  std::vector<int> grid_;
};

/// Returns the dimensions of the torus that explains the distances between nodes by hops, or nothing if there is none.
/// Nodes are numbered row by row.
std::vector<int> detect_grid(const Model& model);

}  // namespace antiphon::mapping
