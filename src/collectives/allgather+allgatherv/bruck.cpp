// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/gathered.hpp"

namespace antiphon::allgather_by_bruck {

namespace {

constexpr Parameter parameters[] = {
    {"radix", Role::fanout, 2, 2, 16, "blocks held grow by this factor a round; radix−1 messages a round"},
    {"piece_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per piece; 0 sends whole messages"},
    {"window", Role::ahead, 2, 1, 1024, "pieces ahead of what comes in"},
};

/// Round i: every rank sends the d = radix^i blocks it has, from its own on, to rank − d, 2d, … (radix−1) d, and gets
/// as many from the other side: ⌈log_radix P⌉ rounds for any P. A run of blocks that wraps round the end is two
/// messages. Blocks go straight to their places in the output; a rank whose output has gaps or another order receives
/// into scratch and copies. Cost (pLogP): log_radix P · L + (P−1) g(m), or g(all blocks). J. Bruck et al., 1997.
Schedule build(const Problem& p) {
  Schedule s;
  const auto radix = static_cast<int>(p.parameter("radix"));
  GatheredBlocks blocks(s, p, cut_of(p, "piece_bytes"));
  std::vector<OpId> have{blocks.own()};
  for (long long distance = 1; distance < p.size; distance *= radix) {
    std::vector<OpId> arriving;
    for (int digit = 1; digit < radix && digit * distance < p.size; ++digit) {
      const int shift = static_cast<int>(digit * distance);
      const int count = std::min(static_cast<int>(distance), p.size - shift);
      const int from = (p.rank + shift) % p.size;
      const auto received = blocks.recv(from, ring_runs(0, p.size, from, count), 0);
      blocks.send((p.rank - shift + p.size) % p.size, ring_runs(0, p.size, p.rank, count), have, 0);
      arriving.insert(arriving.end(), received.begin(), received.end());
    }
    have.insert(have.end(), arriving.begin(), arriving.end());
  }
  return s;
}

}  // namespace

extern const Algorithm allgather{
    .collective = Collective::allgather,
    .name = "bruck",
    .summary = "blocks held grow by a factor a round; short blocks, any number of ranks",
    .parameters = parameters,
    .build = build,
};

extern const Algorithm allgatherv{
    .collective = Collective::allgatherv,
    .name = "bruck",
    .summary = "blocks held grow by a factor a round; short blocks, any number of ranks",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::allgather_by_bruck
