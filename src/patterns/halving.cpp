// SPDX-License-Identifier: Apache-2.0
#include "patterns/halving.hpp"

#include "antiphon/error.hpp"

namespace antiphon {

Partial Partial::sub(std::int64_t offset, std::int64_t bytes, const Cut& cut) const {
  Partial part{where.sub(offset, bytes), since.op, writable};
  if (since.lag == Dep::whole || cut.piece_bytes == 0) return part;
  // The part's piece k ends this many pieces later in the whole.
  const std::int64_t lag = since.lag - (offset + cut.piece_bytes - 1) / cut.piece_bytes;
  part.since.lag = lag > Dep::whole ? static_cast<std::int32_t>(lag) : Dep::whole;
  return part;
}

Partial combine(Schedule& s, const Problem& p, const Partial& mine, Range landing, OpId received, bool theirs_is_left,
                const Cut& cut) {
  const bool into_landing = p.commutative || !theirs_is_left;
  if (!into_landing && !mine.writable)
    throw InvalidArgument("an ordered reduction into memory that may not be written");
  const Range from = into_landing ? mine.where : landing;
  const Range to = into_landing ? landing : mine.where;
  const OpId reduced = s.reduce(from, to, {pipelined(received), mine.since}, {cut.piece_bytes, 0});
  return {to, pipelined(reduced)};
}

Partial fold_pairs(Schedule& s, const Problem& p, const Folding& folding, const Partial& mine, const Cut& cut,
                   OpId* sent) {
  if (!folding.in_pair(p.rank) || mine.where.bytes == 0) return mine;
  if (!folding.acts(p.rank)) {
    const OpId op = s.send(p.rank + 1, mine.where, {mine.since}, cut, fold_tag);
    if (sent != nullptr) *sent = op;
    return mine;
  }
  const Range landing = s.scratch(mine.where.bytes);
  const OpId received = s.recv(p.rank - 1, landing, {}, {cut.piece_bytes, 2 * cut.window}, fold_tag);
  return combine(s, p, mine, landing, received, true, cut);
}

Halved recursive_halving(Schedule& s, const Problem& p, const Folding& folding, Partial mine, HalvingOrder order,
                         const std::function<std::int64_t(int)>& offset_of, const Cut& cut) {
  Halved done{mine, 0, folding.acting, {}, {}};
  const int place = folding.place(p.rank);
  const auto part = [&](int begin, int end) {
    return Range{Space::scratch, offset_of(begin), offset_of(end) - offset_of(begin)};
  };
  for (int i = 1; i < folding.acting; i *= 2) {
    const int distance = order == HalvingOrder::near_first ? i : folding.acting / (2 * i);
    const int partner = folding.rank_at(place ^ distance);
    const bool upper = (place & distance) != 0;
    const int middle = (done.begin + done.end) / 2;
    const std::int64_t base = offset_of(done.begin);
    const Range given = upper ? part(done.begin, middle) : part(middle, done.end);
    const Range kept = upper ? part(middle, done.end) : part(done.begin, middle);
    const Partial out = done.kept.sub(given.offset_bytes - base, given.bytes, cut);
    done.kept = done.kept.sub(kept.offset_bytes - base, kept.bytes, cut);
    const Range landing = s.scratch(kept.bytes);
    const OpId received = kept.bytes > 0 ? s.recv(partner, landing, {}, {cut.piece_bytes, 2 * cut.window}) : no_op;
    HalvingStep step{partner, given, no_op};
    if (given.bytes > 0) step.sent = s.send(partner, out.where, {out.since, paced(received, cut.window)}, cut);
    if (kept.bytes > 0) done.kept = combine(s, p, done.kept, landing, received, upper, cut);
    (upper ? done.begin : done.end) = middle;
    done.steps.push_back(step);
  }
  done.kept_range = part(done.begin, done.end);
  return done;
}

}  // namespace antiphon
