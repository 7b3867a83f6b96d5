// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/phases.hpp"

namespace antiphon::alltoallv_algorithms {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", 16384, 1, 1 << 30, "bytes per piece; blocks of at most one piece are sent without asking"},
    {"window", 2, 1, 64, "pieces that a receiver has granted to one sender and not yet received"},
    {"senders", 2, 1, 64, "senders of long blocks that a receiver lets send at a time"},
};

constexpr int data_tag = 0;
constexpr int grant_tag = 1;

/// The receiver rules: it walks its long blocks in the order of rotated phases, spread over `senders` lanes, and grants each
/// piece by a message of one byte, so that never more than senders·window pieces are under way to it, whoever has how much
/// for whom. A grant for the next sender leaves when the last pieces of the one before are still under way. Short blocks are
/// sent at once, in the lock-step of phases.
///
/// No deadlock: a lane's grants wait for receives earlier in the same lane alone, a send waits for its grants alone, and the
/// receive of a granted piece for the grants before it. Short blocks: see PhasedExchange.
/// Cost: the bytes into the busiest port plus a latency per lane, and one small packet per piece; good for skewed and
/// irregular sizes, where senders cannot know who else sends to the same port.
Schedule build(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p, "piece_bytes");
  s.copy(p.input_block(p.rank), p.output_block(p.rank));
  PhasedExchange short_blocks(s, p, cut, Sync::none, 0);
  std::vector<Lane> lanes(static_cast<std::size_t>(p.parameter("senders")), Lane({cut.piece_bytes, 2 * cut.window}));
  std::size_t lane_index = 0;
  const auto is_long = [&](const Range& block) { return block.bytes > cut.piece_bytes; };
  for (int phase = 1; phase < p.size; ++phase) {
    const auto [to, from] = rotated_partners(p.rank, p.size, phase);
    const Range out = p.input_block(to);
    const Range in = p.output_block(from);
    short_blocks.add({is_long(out) ? -1 : to, out, is_long(in) ? -1 : from, in});
    if (is_long(in)) {
      Lane& lane = lanes[lane_index++ % lanes.size()];
      const std::int64_t start = lane.end();
      s.recv(from, in, {}, {cut.piece_bytes, 2 * cut.window}, data_tag);
      lane.append(s);
      s.send(from, s.scratch(pieces_of(in.bytes, cut)), {}, {1, cut.window}, grant_tag);
      lane.pace(s, start, cut.window);
    }
    if (is_long(out)) {
      const OpId granted = s.recv(to, s.scratch(pieces_of(out.bytes, cut)), {}, {1, cut.window}, grant_tag);
      s.send(to, out, {pipelined(granted)}, cut, data_tag);
    }
  }
  return s;
}

}  // namespace

extern const Algorithm tokens{Collective::alltoallv, "tokens",
                              "receivers grant long blocks piece by piece; skewed sizes and hot spots", parameters, nullptr, build};

}  // namespace antiphon::alltoallv_algorithms
