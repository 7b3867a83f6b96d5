// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "antiphon/cost.hpp"

namespace antiphon {

namespace {

/// Returns the groups of the first ranks.
std::vector<int> first_of(const std::vector<int>& sizes, int ranks) {
  std::vector<int> first;
  for (int left = ranks; const int size : sizes) {
    if (left > 0) first.push_back(std::min(size, left));
    left -= size;
  }
  return first;
}

}  // namespace

void set_equal_blocks(Problem& p, Knowledge knowledge) {
  const bool knows = !has_root(p.collective) || p.rank == p.root || knowledge == Knowledge::all_counts;
  const bool sends = p.collective == Collective::scatterv || p.collective == Collective::alltoallv;
  const bool receives = p.collective != Collective::scatterv;
  const auto n = static_cast<std::size_t>(p.size);
  std::vector<std::int64_t> offsets(n);
  for (std::size_t i = 0; i < n; ++i) offsets[i] = static_cast<std::int64_t>(i) * p.bytes;
  if (knows && sends) {
    p.send_bytes.assign(n, p.bytes);
    p.send_offsets = offsets;
  }
  if (knows && receives) {
    p.recv_bytes.assign(n, p.bytes);
    p.recv_offsets = std::move(offsets);
  }
}

Problem problem_of(const PredictedCall& call, int rank, int size, const Algorithm& algorithm,
                   const Parameters& parameters) {
  Problem p{call.collective, rank, size, call.root, call.bytes, call.element_bytes, call.commutative};
  p.parameters = resolve_parameters(algorithm, parameters);
  p.node_sizes = first_of(call.node_sizes, size);
  p.switch_sizes = first_of(call.switch_sizes, size);
  if (is_irregular(call.collective)) set_equal_blocks(p, algorithm.knowledge);
  return p;
}

}  // namespace antiphon
