// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/tree.hpp"

namespace antiphon::allreduce_algorithms {

namespace {

constexpr Parameter parameters[] = {
    {"radix", 2, 1, 64, "of the k-nomial tree; 1: a chain"},
    {"segment_bytes", 8192, 0, 1 << 30, "bytes per segment; 0 passes on whole vectors"},
    {"window", 4, 1, 1024, "segments under way from one rank to another"},
};

constexpr int up_tag = 0;
constexpr int down_tag = 1;

Tree tree_at(const Problem& p, int rank) {
  const auto radix = static_cast<int>(p.parameter("radix"));
  if (radix > 1) return knomial_tree(rank, p.size, radix);
  Tree chain{rank - 1, {}, rank, p.size};
  if (rank + 1 < p.size) chain.children.push_back(rank + 1);
  return chain;
}

/// Segments are reduced up a tree to rank 0 and go down the same tree as they are done: both directions of the links at once.
/// Subtrees are runs of ranks and are combined in order, so any operation will do. One child at a time sends to a port.
/// Cost (pLogP), k segments of s bytes: radix 2: 2 log2 P (L + g(s)) + (k−1) log2 P·g(s); chain: 2 (P−1)(L + g(s)) + (k−1) g(s),
/// which moves each byte over each link but once in each direction. Short vectors, or long ones (chain) of ordered operations.
Schedule build(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p);
  const Cut local{cut.piece_bytes, 0};
  const Tree tree = tree_at(p, p.rank);
  const std::int64_t pieces = pieces_of(p.bytes, cut);

  // What comes is combined into where it came to, and is then the left operand of the next: two buffers in turns.
  const Range buffers[2] = {tree.children.empty() ? Range{} : s.scratch(p.bytes), tree.children.size() < 2 ? Range{} : s.scratch(p.bytes)};
  OpId free[2] = {no_op, no_op};
  Range result = p.whole_input();
  OpId combined = no_op;
  OpId received = no_op;
  int turn = 0;
  std::vector<int> in_order = tree.children;
  std::sort(in_order.begin(), in_order.end());
  for (const int child : in_order) {
    const Dep next = following(received, pieces, cut);
    if (tree.children.size() > 1) s.send_token(child, {next}, up_tag);
    received = s.recv(child, buffers[turn], {next, pipelined(free[turn])}, cut, up_tag);
    combined = s.reduce(result, buffers[turn], {pipelined(received), pipelined(combined)}, local);
    free[turn ^ 1] = combined;
    result = buffers[turn];
    turn ^= 1;
  }
  OpId have = no_op;
  if (tree.parent < 0) {
    have = s.copy(result, p.whole_output(), {pipelined(combined)}, local);
  } else {
    // A parent of several children asks one after the other. In place, the operand is overwritten after it was sent.
    const bool asked = tree_at(p, tree.parent).children.size() > 1;
    const OpId granted = asked ? s.recv_token(tree.parent, {}, up_tag) : no_op;
    const OpId sent = s.send(tree.parent, result, {granted, pipelined(combined)}, cut, up_tag);
    have = s.recv(tree.parent, p.whole_output(), {pipelined(sent)}, cut, down_tag);
  }
  for (const int child : tree.children) s.send(child, p.whole_output(), {pipelined(have)}, cut, down_tag);
  return s;
}

}  // namespace

extern const Algorithm reduce_bcast{Collective::allreduce, "reduce_bcast",
                                    "reduced up a tree or chain and sent down again in segments; any operation", parameters,
                                    nullptr, build};

}  // namespace antiphon::allreduce_algorithms
