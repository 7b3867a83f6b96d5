// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/partition.hpp"

namespace antiphon::allgather_by_split_exchange {

namespace {

constexpr Parameter parameters[] = {
    {"concurrency", Role::at_once, 2, 1, 8, "parts of a block, each on a way of its own"},
    {"piece_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per piece; 0 sends whole messages"},
    {"window", Role::ahead, 2, 1, 1024, "pieces of a message ahead of what comes in for the same part"},
};

/// The strides of the parts' rings: +1 (pair), −1 (co-pair), then other pairs ±u that have no divisor in common with P,
/// so that each ring visits all ranks. Where there are too few such u, strides are used again.
std::vector<int> strides(int size, int count) {
  std::vector<int> found;
  for (int u = 1; u == 1 || 2 * u < size; ++u) {
    if (std::gcd(u, size) != 1) continue;
    found.push_back(u);
    if (size > 2) found.push_back(-u);
  }
  std::vector<int> chosen;
  for (int i = 0; i < count; ++i) chosen.push_back(found[static_cast<std::size_t>(i) % found.size()]);
  return chosen;
}

/// Part `part` of all blocks: a doubling exchange along the ring with this stride, in scratch in the order of that
/// ring.
void gather_part(Schedule& s, const Problem& p, const Partition& parts, int part, int stride) {
  const Cut cut = cut_of(p, "piece_bytes");
  const std::int64_t bytes = parts.size(part);
  if (bytes == 0) return;
  const auto at = [&](int steps) {
    return static_cast<int>(((p.rank + static_cast<long long>(stride) * steps) % p.size + p.size) % p.size);
  };
  const Range ring = s.scratch(bytes * p.size);
  std::vector<OpId> have{s.copy(parts.of(p.whole_input(), part), ring.sub(0, bytes))};
  for (int distance = 1; distance < p.size; distance *= 2) {
    const int count = std::min(distance, p.size - distance);
    const OpId received =
        s.recv(at(distance), ring.sub(distance * bytes, count * bytes), {}, {cut.piece_bytes, 2 * cut.window}, part);
    s.send(at(-distance), ring.sub(0, count * bytes), {paced(received, cut.window)}, cut, part);
    for (const OpId op : have) s.after(op);
    have.push_back(received);
    for (int i = distance; i < distance + count; ++i) {
      s.copy(ring.sub(i * bytes, bytes), parts.of(p.output_block(at(i)), part), {received});
    }
  }
}

/// Paper 4, §3.2: blocks are split into parts; one goes to the pair, one to the co-pair, at the same distance in the
/// opposite direction, each doubling what ranks have of it. Here parts travel in scratch, where what a rank has of one
/// lies in one run, so a step is one message per part for any P; and there may be more than two parts, on rings of
/// other strides. Cost: log2 P (L + C·o) + (P−1) g(m), and a copy of all blocks. For networks that carry several
/// streams per port at once.
Schedule build(const Problem& p) {
  Schedule s;
  const auto count = static_cast<int>(p.parameter("concurrency"));
  const Partition parts(p.bytes, 1, count);
  s.copy(p.whole_input(), p.output_block(p.rank));
  const auto rings = strides(p.size, count);
  for (int part = 0; part < count; ++part) gather_part(s, p, parts, part, rings[static_cast<std::size_t>(part)]);
  return s;
}

}  // namespace

extern const Algorithm allgather{
    .collective = Collective::allgather,
    .name = "split_exchange",
    .summary = "blocks split between pair and co-pair, in opposite directions; medium blocks",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::allgather_by_split_exchange
