// SPDX-License-Identifier: Apache-2.0
#include "patterns/scatter_multicast.hpp"

#include <algorithm>

#include "patterns/multicast.hpp"

namespace antiphon {

namespace {

/// The blocks of a scatter(v) for other ranks than the root, in rank order.
struct Aggregate {
  std::vector<std::int64_t> offsets;  ///< by rank, within the message
  std::int64_t bytes = 0;
};

std::int64_t block_bytes(const Problem& p, int rank) {
  return p.collective == Collective::scatter ? p.bytes : p.send_bytes[static_cast<std::size_t>(rank)];
}

/// A regular scatter's root sends all of its input as it lies, its own block too. The blocks of a scatterv may lie in
/// any order.
Aggregate aggregate_of(const Problem& p) {
  Aggregate all;
  for (int i = 0; i < p.size; ++i) {
    all.offsets.push_back(all.bytes);
    if (p.collective == Collective::scatter || i != p.root) all.bytes += block_bytes(p, i);
  }
  return all;
}

/// The message at the root: the input itself where the blocks lie one after the other, else a copy.
Range aggregated(Schedule& s, const Problem& p, const Aggregate& all, std::vector<Dep>& ready) {
  if (p.collective == Collective::scatter) return {Space::input, 0, all.bytes};
  std::int64_t begin = -1;
  bool adjacent = true;
  for (int i = 0; i < p.size; ++i) {
    if (i == p.root || block_bytes(p, i) == 0) continue;
    const Range block = p.input_block(i);
    if (begin < 0) begin = block.offset_bytes - all.offsets[static_cast<std::size_t>(i)];
    adjacent = adjacent && block.offset_bytes - all.offsets[static_cast<std::size_t>(i)] == begin;
  }
  if (adjacent) return {Space::input, begin, all.bytes};
  const Range message = s.scratch(all.bytes);
  for (int i = 0; i < p.size; ++i) {
    if (i == p.root || block_bytes(p, i) == 0) continue;
    ready.emplace_back(
        s.copy(p.input_block(i), message.sub(all.offsets[static_cast<std::size_t>(i)], block_bytes(p, i))));
  }
  return message;
}

}  // namespace

Schedule scatter_multicast(const Problem& p, std::vector<std::int32_t> members) {
  Schedule s;
  const Aggregate all = aggregate_of(p);
  const Cut cut = multicast_cut(p);
  const bool listens = std::binary_search(members.begin(), members.end(), p.rank);
  if (p.rank == p.root) {
    std::vector<Dep> ready;
    if (all.bytes > 0 && members.size() > 1) {
      const Range message = aggregated(s, p, all, ready);
      s.add({.kind = OpKind::multicast, .from = message, .to = {}, .cut = cut, .group = s.group(std::move(members))},
            ready);
    }
    s.copy(p.input_block(p.rank), p.whole_output());
    return s;
  }
  if (!listens || all.bytes == 0) return s;
  const Range message = s.scratch(all.bytes);
  const OpId received = s.recv_multicast(p.root, s.group(std::move(members)), message, {}, cut);
  if (p.bytes > 0)
    s.copy(message.sub(all.offsets[static_cast<std::size_t>(p.rank)], p.bytes), p.whole_output(), {received});
  return s;
}

}  // namespace antiphon
