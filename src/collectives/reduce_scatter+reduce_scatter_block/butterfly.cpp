// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/halving.hpp"
#include "patterns/reduce_scatter.hpp"

namespace antiphon::reduce_scatter_by_butterfly {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per piece; 0 sends whole messages"},
    {"window", Role::ahead, 2, 1, 1024, "pieces ahead of what comes in"},
};

int reversed_bits(int value, int below) {
  int reversed = 0;
  for (int bit = 1; bit < below; bit *= 2) reversed = 2 * reversed + ((value & bit) != 0 ? 1 : 0);
  return reversed;
}

/// Partners 1, 2, 4… places away each send the half that the other keeps, of blocks in such an order that each rank is
/// left with its own (as Open MPI's). Operands stay in order, so that operations need not commute, and partners on the
/// same node come first, where most is exchanged. Cost (pLogP): log2 P · L + (P−1) g(m). Good for short and medium
/// blocks.
Schedule build(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p, "piece_bytes");
  const Folding folding(p.size);
  const auto begin_of = [&](int rank) {
    return rank == p.size ? p.input_block(rank - 1).offset_bytes + p.input_block(rank - 1).bytes
                          : p.input_block(rank).offset_bytes;
  };
  const auto block_at = [&](int position) {
    const int place = reversed_bits(position, folding.acting);
    const std::int64_t begin = begin_of(folding.first_rank(place));
    return Range{Space::input, begin, begin_of(folding.first_rank(place + 1)) - begin};
  };
  // The blocks are in an order in which halving with near partners first leaves each rank with its own.
  std::vector<std::int64_t> offsets{0};
  for (int i = 0; i < folding.acting; ++i) offsets.push_back(offsets.back() + block_at(i).bytes);
  const Range all = s.scratch(offsets.back());
  std::vector<OpId> copies;
  for (int i = 0; i < folding.acting; ++i)
    copies.push_back(s.copy(block_at(i), all.sub(offsets[static_cast<std::size_t>(i)], block_at(i).bytes)));
  const OpId copied = s.copy({}, {});
  for (const OpId op : copies) s.after(op);
  const Partial mine = fold_pairs(s, p, folding, {all, copied}, cut);
  if (!folding.acts(p.rank)) {
    if (p.bytes > 0) s.recv(p.rank + 1, p.whole_output(), {copied}, cut, unfold_tag);
    return s;
  }
  const auto offset_of = [&](int position) { return offsets[static_cast<std::size_t>(position)]; };
  const Halved halved = recursive_halving(s, p, folding, mine, HalvingOrder::near_first, offset_of, cut);
  const Range own = give_pair_its_block(s, p, halved.kept, cut);
  s.copy(own, p.whole_output(), {halved.kept.since.op, copied});
  return s;
}

}  // namespace

extern const Algorithm reduce_scatter{
    .collective = Collective::reduce_scatter,
    .name = "butterfly",
    .summary = "near partners halve what they keep; any operation",
    .parameters = parameters,
    .build = build,
};

extern const Algorithm reduce_scatter_block{
    .collective = Collective::reduce_scatter_block,
    .name = "butterfly",
    .summary = "near partners halve what they keep; any operation",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::reduce_scatter_by_butterfly
