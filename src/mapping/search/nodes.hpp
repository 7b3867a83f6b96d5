// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "mapping/search/model.hpp"
#include "mapping/search/random.hpp"

namespace antiphon::mapping {

/// The nearest other nodes of each node.
class NearNodes {
 public:
  explicit NearNodes(const Model& model);
  [[nodiscard]] const std::vector<int>& of(int node) const { return near_[static_cast<std::size_t>(node)]; }

 private:
  std::vector<std::vector<int>> near_;
};

/// Annealing of which node gets which node's ranks, as they are grouped in `placement`; for `seconds` of thread time.
/// Never makes it worse.
void anneal_nodes(const Model& model, const NearNodes& near, Model::Placement& placement, double seconds,
                  Random& random);

}  // namespace antiphon::mapping
