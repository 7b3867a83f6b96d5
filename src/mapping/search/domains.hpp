// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "mapping/search/model.hpp"

namespace antiphon::mapping {

/// A machine halved again and again: near slots stay together longest. Domain 0 is all of it; children come after their
/// parents, level by level.
class Domains {
 public:
  struct Domain {
    int begin = 0;  ///< in order()
    int end = 0;
    int left = -1;  ///< −1: not halved any more; its slots are all alike to each other
    int right = -1;
    [[nodiscard]] int size() const { return end - begin; }
  };

  explicit Domains(const Model& model);

  [[nodiscard]] const std::vector<Domain>& all() const { return domains_; }
  /// All slots, those of a domain following one another.
  [[nodiscard]] const std::vector<int>& order() const { return order_; }
  /// The average over some pairs of slots of two domains.
  [[nodiscard]] Model::Pair between(int domain, int other) const;
  [[nodiscard]] Model::Pair between(int domain, const Domain& other) const {
    return average(domains_[static_cast<std::size_t>(domain)], other);
  }
  /// The average over some pairs within a domain.
  [[nodiscard]] Model::Pair within(int domain) const;
  /// The dimensions of the grid that the nodes lie on, as given or as the distances show.
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

/// Dimensions of a grid with wrap-around whose hops explain the distances between nodes, which are numbered row by row;
/// empty if none does.
std::vector<int> detect_grid(const Model& model);

}  // namespace antiphon::mapping
