// SPDX-License-Identifier: Apache-2.0
#include "patterns/multicast.hpp"

#include <algorithm>
#include <numeric>

#include "patterns/cut.hpp"
#include "patterns/reduce_up.hpp"

namespace antiphon {

int everybody(Schedule& s, const Problem& p) {
  std::vector<std::int32_t> members(static_cast<std::size_t>(p.size));
  std::iota(members.begin(), members.end(), 0);
  return s.group(std::move(members));
}

Cut multicast_cut(const Problem& p) { return cut_of(p); }

OpId multicast_from(Schedule& s, const Problem& p, int group, int from, const Range& range, Dep ready, Cut cut) {
  return p.rank == from ? s.multicast(group, range, {ready}, cut) : s.recv_multicast(from, group, range, {ready}, cut);
}

namespace {

/// Whose blocks are not empty, in the order in which they are sent: those who send at the same time are as far apart as
/// can be. Where ranks lie on their switches in order, the links between these are used both ways at once.
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
  const int group = everybody(s, p);
  for (std::size_t turn = 0; turn < turns.size(); ++turn) {
    const std::size_t from = turns[turn];
    if (from != static_cast<std::size_t>(p.rank)) {
      brought[from] = multicast_from(s, p, group, static_cast<int>(from), blocks[from],
                                     free.empty() ? Dep(no_op) : Dep(free[from]), cut);
      continue;
    }
    brought[from] = multicast_from(s, p, group, p.rank, blocks[from], own, cut);
    // After one of each of those who send together: what comes from beyond a slow link tells how far that link is.
    for (std::size_t back = ahead; back < 2 * ahead && back <= turn; ++back) {
      const std::size_t before = turns[turn - back];
      // Not before the first piece has come, lest all begin at once where a block is shorter than the window.
      const std::int64_t pieces = pieces_of(blocks[before].bytes, cut);
      const auto pieces_ahead = static_cast<std::int32_t>(std::clamp<std::int64_t>(cut.window, 1, pieces));
      s.after(following(brought[before], pieces, {cut.piece_bytes, pieces_ahead}));
    }
  }
}

Schedule allgather_multicast(const Problem& p) {
  Schedule s;
  std::vector<Range> blocks;
  for (int i = 0; i < p.size; ++i) blocks.push_back(p.output_block(i));
  const OpId own = s.copy(p.whole_input(), p.output_block(p.rank));
  multicast_allgather(s, p, blocks, own, static_cast<int>(p.parameter("senders")), multicast_cut(p));
  return s;
}

namespace {

/// The blocks of a scatter(v) for other ranks than the root, in rank order.
struct Aggregate {
  std::vector<std::int64_t> offsets;  ///< by rank, within the message
  std::int64_t bytes = 0;
};

std::int64_t block_bytes(const Problem& p, int rank) {
  return p.collective == Collective::scatter ? p.bytes : p.send_bytes[static_cast<std::size_t>(rank)];
}

/// A regular scatter's root sends all of its input as it lies, its own block too; the blocks of a scatterv lie anyhow.
Aggregate aggregate_of(const Problem& p) {
  Aggregate all;
  for (int i = 0; i < p.size; ++i) {
    all.offsets.push_back(all.bytes);
    if (p.collective == Collective::scatter || i != p.root) all.bytes += block_bytes(p, i);
  }
  return all;
}

/// The message at the root: where the blocks lie, if they lie one after the other, else a copy.
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

Schedule reduce_scatter_multicast(const Problem& p) {
  constexpr int up_tag = 0;
  constexpr int down_tag = 1;
  Schedule s;
  const Cut cut = cut_of(p);
  const Range last = p.input_block(p.size - 1);
  const Range operand{Space::input, 0, last.offset_bytes + last.bytes};
  const Range own = p.input_block(p.rank);
  const int group = everybody(s, p);
  const auto tree_at = [&](int rank) { return knomial_tree(rank, p.size, static_cast<int>(p.parameter("radix"))); };
  const ReducedUp up = reduce_up(s, p, tree_at, operand, cut, up_tag);
  Range sums = up.result;
  Dep ready = up.ready;
  if (p.rank == 0) {
    s.multicast(group, sums, {ready}, cut, down_tag);
    ready = {ready.op};
  } else {
    sums = s.scratch(operand.bytes);
    ready = s.recv_multicast(0, group, sums, {}, cut, down_tag);
  }
  if (own.bytes > 0) s.copy(sums.sub(own.offset_bytes, own.bytes), p.whole_output(), {ready, up.sent});
  return s;
}

}  // namespace antiphon
