// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "antiphon/random.hpp"
#include "mapping/search/model.hpp"

namespace antiphon::mapping {

/// The nearest other nodes of each node.
class NearNodes {
 public:
  explicit NearNodes(const Model& model);
  [[nodiscard]] const std::vector<int>& of(int node) const { return near_[static_cast<std::size_t>(node)]; }

 private:
  std::vector<std::vector<int>> near_;
};

/// Anneals which group of ranks gets which node, for `seconds` of thread time; `placement` defines the groups. The
/// result is never worse.
void anneal_nodes(const Model& model, const NearNodes& near, Model::Placement& placement, double seconds,
                  Random& random);

}  // namespace antiphon::mapping
