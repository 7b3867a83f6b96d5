// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/halving.hpp"

namespace antiphon::allreduce_by_recursive_doubling {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per piece; 0 sends whole vectors"},
    {"window", Role::ahead, 4, 1, 1024, "pieces ahead of what comes in"},
};

/// In step i, a rank exchanges partial results with the rank 2^i places away and combines both; pieces of a step follow
/// those of the one before. Beyond a power of two, pairs of neighbours act as one (two more messages). Partners stand
/// for neighbouring runs of ranks, so operations need not commute. Cost (pLogP): log2 P (L + g(m)), for P beyond a
/// power of two 2 (L + g(m)) more.
Schedule build(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p, "piece_bytes");
  const Folding folding(p.size);
  const OpId own = s.copy(p.whole_input(), p.whole_output());
  OpId folded = no_op;
  Partial mine = fold_pairs(s, p, folding, {p.whole_output(), own}, cut, &folded);
  if (!folding.acts(p.rank)) {
    if (p.bytes > 0) s.recv(p.rank + 1, p.whole_output(), {pipelined(folded)}, cut, unfold_tag);
    return s;
  }
  const int place = folding.place(p.rank);
  Range landing = mine.where == p.whole_output() ? s.scratch(p.bytes) : p.whole_output();
  Dep landing_free = mine.where == p.whole_output() ? Dep(no_op) : mine.since;
  for (int distance = 1; distance < folding.acting; distance *= 2) {
    const int partner = folding.rank_at(place ^ distance);
    const OpId received = s.recv(partner, landing, {landing_free}, cut);
    const OpId sent = s.send(partner, mine.where, {mine.since, paced(received, cut.window)}, cut);
    const bool into_landing = partner > p.rank;
    const Range from = into_landing ? mine.where : landing;
    const Range to = into_landing ? landing : mine.where;
    const OpId reduced = s.reduce(from, to, {pipelined(received), mine.since, pipelined(sent)}, {cut.piece_bytes, 0});
    mine = {to, pipelined(reduced)};
    landing = from;
    landing_free = pipelined(reduced);
  }
  if (folding.in_pair(p.rank) && p.bytes > 0) s.send(p.rank - 1, mine.where, {mine.since}, cut, unfold_tag);
  s.copy(mine.where, p.whole_output(), {mine.since.op});
  return s;
}

}  // namespace

extern const Algorithm allreduce{
    .collective = Collective::allreduce,
    .name = "recursive_doubling",
    .summary = "partners exchange partial results; short vectors, any operation",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::allreduce_by_recursive_doubling
