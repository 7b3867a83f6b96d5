// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/reduce_up.hpp"
#include "patterns/supports.hpp"
#include "patterns/tree.hpp"

namespace antiphon::reduce_by_kary {

namespace {

constexpr Parameter parameters[] = {
    {"radix", Role::fanout, 2, 1, 1 << 20, "children of a rank; as many as there are ranks: all send to the root"},
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment; 0 passes on the whole message at once"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way from one rank"},
    {"eager_bytes", Role::border, 4096, 0, 1 << 30, "messages up to this are sent without being asked for"},
};

/// Ranks fill a tree level by level (as Open MPI's binary tree, or with a large radix its linear reduction); each
/// combines its operand with those of its children, one child after the other, and passes the result on segment by
/// segment. Longer messages are asked for. Cost (pLogP), k segments of s bytes: ⌈log_radix P⌉ (L + radix·g(s)) + (k−1)
/// radix·g(s).
Schedule build(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p);
  const Tree tree = kary_tree(p.relative(p.rank), p.size, static_cast<int>(p.parameter("radix")));
  const bool asked = p.bytes > p.parameter("eager_bytes");
  std::vector<int> children;
  for (const int child : smallest_first(tree)) children.push_back(p.absolute(child));
  const auto [result, ready] = combine_children(s, children, p.whole_input(), asked, cut);
  if (tree.parent < 0) {
    s.copy(result, p.whole_output(), {pipelined(ready)}, cut);
  } else {
    const OpId granted = asked ? s.recv_token(p.absolute(tree.parent)) : no_op;
    s.send(p.absolute(tree.parent), result, {granted, pipelined(ready)}, cut);
  }
  return s;
}

}  // namespace

extern const Algorithm reduce{
    .collective = Collective::reduce,
    .name = "kary",
    .summary = "segments up a tree filled level by level; medium messages",
    .parameters = parameters,
    .supports = is_commutative,
    .build = build,
};

}  // namespace antiphon::reduce_by_kary
