// SPDX-License-Identifier: Apache-2.0
#include "patterns/granted.hpp"

#include "patterns/cut.hpp"
#include "patterns/phases.hpp"

namespace antiphon {

namespace {

constexpr int data_tag = 0;
constexpr int grant_tag = 1;

}  // namespace

Schedule granted_exchange(const Problem& p, const Granting& granting) {
  Schedule s;
  const Cut& cut = granting.cut;
  s.copy(p.input_block(p.rank), p.output_block(p.rank));
  PhasedExchange short_blocks(s, p, cut, Sync::none, 0);
  std::vector<Lane> lanes(static_cast<std::size_t>(granting.senders), Lane({cut.piece_bytes, 2 * cut.window}));
  std::size_t lane_index = 0;
  const auto is_long = [&](const Range& block) { return block.bytes > granting.short_bytes; };
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

}  // namespace antiphon
