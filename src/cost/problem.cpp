// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "antiphon/cost.hpp"

namespace antiphon {

namespace {

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

}  // namespace

Problem problem_of(const PredictedCall& call, int rank, int size, const Algorithm& algorithm,
                   const Parameters& parameters) {
  Problem p{call.collective, rank, size, call.root, call.bytes, call.element_bytes, call.commutative};
  p.parameters = resolve_parameters(algorithm, parameters);
  for (int left = size; const int ranks : call.node_sizes) {
    if (left > 0) p.node_sizes.push_back(std::min(ranks, left));
    left -= ranks;
  }
  if (is_irregular(call.collective)) set_equal_blocks(p, algorithm.knowledge);
  return p;
}

}  // namespace antiphon
