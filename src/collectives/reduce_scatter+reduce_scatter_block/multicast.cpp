// SPDX-License-Identifier: Apache-2.0
#include "patterns/multicast.hpp"
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/reduce_up.hpp"
#include "patterns/tree.hpp"

namespace antiphon::reduce_scatter_by_multicast {

namespace {

constexpr Parameter parameters[] = {
    {"radix", Role::fanout, 2, 2, 64, "of the k-nomial tree up"},
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30,
     "bytes per segment, on the way up and to the group; 0: all at once"},
    {"window", Role::ahead, 4, 1, 64, "segments under way"},
};

constexpr int up_tag = 0;
constexpr int down_tag = 1;

/// All blocks are reduced up a k-nomial tree to rank 0, which multicasts them all; each rank keeps its own. Cost
/// (pLogP), radix 2: log2 P (L + g(M)) + L + g(M), with M the sum of all blocks. Good for a few bytes; any operation.
Schedule build(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p);
  const Range last = p.input_block(p.size - 1);
  const Range operand{Space::input, 0, last.offset_bytes + last.bytes};
  const Range own = p.input_block(p.rank);
  const int group = group_of_all(s, p);
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

}  // namespace

extern const Algorithm reduce_scatter{
    .collective = Collective::reduce_scatter,
    .name = "multicast",
    .summary = "reduced up a tree, all blocks in one multicast; a few bytes, any operation",
    .parameters = parameters,
    .build = build,
    .multicasts = true,
};

extern const Algorithm reduce_scatter_block{
    .collective = Collective::reduce_scatter_block,
    .name = "multicast",
    .summary = "reduced up a tree, all blocks in one multicast; a few bytes, any operation",
    .parameters = parameters,
    .build = build,
    .multicasts = true,
};

}  // namespace antiphon::reduce_scatter_by_multicast
