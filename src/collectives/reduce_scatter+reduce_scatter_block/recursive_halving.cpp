// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/halving.hpp"
#include "patterns/reduce_scatter.hpp"
#include "patterns/supports.hpp"

namespace antiphon::reduce_scatter_by_recursive_halving {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per piece; 0 sends whole messages"},
    {"window", Role::ahead, 2, 1, 1024, "pieces ahead of what comes in"},
};

/// Partners P/2, P/4, … 1 places away each send the half that the other keeps, and reduce their own. Beyond a power of
/// two, pairs of neighbours act as one, which costs one more vector. Cost (pLogP): log2 P · L + (P−1) g(m). Good for
/// short and medium blocks; needs a commutative operation.
Schedule build(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p, "piece_bytes");
  const Folding folding(p.size);
  const auto end_of = [&](int i) { return p.input_block(i).offset_bytes + p.input_block(i).bytes; };
  const auto offset_of = [&](int place) {
    const int first = folding.first_rank(place);
    return first == p.size ? end_of(p.size - 1) : p.input_block(first).offset_bytes;
  };
  OpId folded = no_op;
  const Partial mine =
      fold_pairs(s, p, folding, {{Space::input, 0, offset_of(folding.acting)}, no_op, false}, cut, &folded);
  if (!folding.acts(p.rank)) {
    if (p.bytes > 0) s.recv(p.rank + 1, p.whole_output(), {folded}, cut, unfold_tag);
    return s;
  }
  const Halved halved = recursive_halving(s, p, folding, mine, HalvingOrder::far_first, offset_of, cut);
  const Range own = give_pair_its_block(s, p, halved.kept, cut);
  std::vector<OpId> sends;
  for (const HalvingStep& step : halved.steps) sends.push_back(step.sent);
  copy_to_output(s, p, own, halved.kept.since.op, sends);
  return s;
}

}  // namespace

extern const Algorithm reduce_scatter{
    .collective = Collective::reduce_scatter,
    .name = "recursive_halving",
    .summary = "partners halve what they keep; short and medium blocks",
    .parameters = parameters,
    .supports = is_commutative,
    .build = build,
};

extern const Algorithm reduce_scatter_block{
    .collective = Collective::reduce_scatter_block,
    .name = "recursive_halving",
    .summary = "partners halve what they keep; short and medium blocks",
    .parameters = parameters,
    .supports = is_commutative,
    .build = build,
};

}  // namespace antiphon::reduce_scatter_by_recursive_halving
