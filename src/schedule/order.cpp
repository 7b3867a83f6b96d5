// SPDX-License-Identifier: Apache-2.0
#include "schedule/order.hpp"

#include <algorithm>

#include "antiphon/error.hpp"

namespace antiphon {

namespace {

/// Lists all blocks of one space, in the order of places.
void list_blocks(const Problem& p, std::vector<std::int64_t>& sizes, std::vector<std::int64_t>& offsets) {
  const std::vector<std::int64_t> of_rank = sizes;
  const std::vector<std::int64_t> at_rank = offsets;
  sizes.clear();
  offsets.clear();
  for (const int rank : p.order) {
    const auto r = static_cast<std::size_t>(rank);
    sizes.push_back(of_rank.empty() ? p.bytes : of_rank[r]);
    offsets.push_back(of_rank.empty() ? rank * p.bytes : at_rank[r]);
  }
}

/// Returns all counts by place.
std::shared_ptr<const std::vector<std::int64_t>> counts_in_places(const Problem& p) {
  if (!p.all_counts) return nullptr;
  auto placed = std::make_shared<std::vector<std::int64_t>>();
  for (const int from : p.order) {
    for (const int to : p.order) placed->push_back(p.pair_bytes(from, to));
  }
  return placed;
}

int place_of(const Problem& p, int rank) {
  const auto found = std::find(p.order.begin(), p.order.end(), rank);
  if (found == p.order.end()) throw InvalidArgument("the order of ranks lacks rank " + std::to_string(rank));
  return static_cast<int>(found - p.order.begin());
}

}  // namespace

Problem in_places(const Problem& p) {
  if (p.order.size() != static_cast<std::size_t>(p.size))
    throw InvalidArgument("the order has " + std::to_string(p.order.size()) + " of " + std::to_string(p.size) +
                          " ranks");
  Problem placed = p;
  placed.rank = place_of(p, p.rank);
  placed.root = place_of(p, p.root);
  const auto is_one_of = [&](std::initializer_list<Collective> list) {
    return std::find(list.begin(), list.end(), p.collective) != list.end();
  };
  using enum Collective;
  if (is_one_of({scatter, alltoall, alltoallv, reduce_scatter_block}))
    list_blocks(p, placed.send_bytes, placed.send_offsets);
  if (is_one_of({gather, alltoall, alltoallv, allgather, allgatherv, reduce_scatter}))
    list_blocks(p, placed.recv_bytes, placed.recv_offsets);
  placed.all_counts = counts_in_places(p);
  placed.order.clear();
  return placed;
}

Schedule with_ranks(const Schedule& places, const std::vector<int>& order) {
  Schedule renamed;
  renamed.set_scratch_bytes(places.scratch_bytes());
  for (Op op : places.ops()) {
    const auto deps = places.deps(op);
    if (op.peer >= 0) op.peer = order.at(static_cast<std::size_t>(op.peer));
    renamed.add(op, deps);
  }
  return renamed;
}

}  // namespace antiphon
