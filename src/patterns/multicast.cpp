// SPDX-License-Identifier: Apache-2.0
#include "patterns/multicast.hpp"

#include <algorithm>
#include <numeric>

#include "patterns/cut.hpp"
#include "patterns/reduce_up.hpp"

namespace antiphon {

int group_of_all(Schedule& s, const Problem& p) {
  std::vector<std::int32_t> members(static_cast<std::size_t>(p.size));
  std::iota(members.begin(), members.end(), 0);
  return s.group(std::move(members));
}

Cut multicast_cut(const Problem& p) { return cut_of(p); }

OpId multicast_from(Schedule& s, const Problem& p, int group, int from, const Range& range, Dep ready, Cut cut) {
  return p.rank == from ? s.multicast(group, range, {ready}, cut) : s.recv_multicast(from, group, range, {ready}, cut);
}

namespace {

/// The ranks with blocks that are not empty, in the order in which they send. Ranks that send at the same time are as
/// far apart as possible: where ranks lie on switches in order, this uses the links between the switches both ways at
/// once.
std::vector<std::size_t> turns_of(std::span<const Range> blocks, std::size_t senders) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].bytes > 0) all.push_back(i);
  }
  const std::size_t stride = (all.size() + senders - 1) / senders;
  std::vector<std::size_t> turns;
  for (std::size_t first = 0; first < stride; ++first) {
    for (std::size_t i = first; i < all.size(); i += stride) turns.push_back(all[i]);
  }
  return turns;
}

}  // namespace

void multicast_allgather(Schedule& s, const Problem& p, std::span<const Range> blocks, Dep own, int senders, Cut cut,
                         std::span<const OpId> free) {
  std::vector<OpId> brought(blocks.size(), no_op);
  const auto ahead = static_cast<std::size_t>(senders);
  const std::vector<std::size_t> turns = turns_of(blocks, ahead);
  const int group = group_of_all(s, p);
  for (std::size_t turn = 0; turn < turns.size(); ++turn) {
    const std::size_t from = turns[turn];
    if (from != static_cast<std::size_t>(p.rank)) {
      brought[from] = multicast_from(s, p, group, static_cast<int>(from), blocks[from],
                                     free.empty() ? Dep(no_op) : Dep(free[from]), cut);
      continue;
    }
    brought[from] = multicast_from(s, p, group, p.rank, blocks[from], own, cut);
    // It waits for one message of each of the ranks that send together before it: one that comes over a slow link tells
    // how far that link has got.
    for (std::size_t back = ahead; back < 2 * ahead && back <= turn; ++back) {
      const std::size_t before = turns[turn - back];
      // It waits for the first piece at least: otherwise all would begin at once where a block is shorter than the
      // window.
      const std::int64_t pieces = pieces_of(blocks[before].bytes, cut);
      const auto pieces_ahead = static_cast<std::int32_t>(std::clamp<std::int64_t>(cut.window, 1, pieces));
      s.after(following(brought[before], pieces, {cut.piece_bytes, pieces_ahead}));
    }
  }
}

}  // namespace antiphon
