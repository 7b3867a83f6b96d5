// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "antiphon/index.hpp"
#include "patterns/cut.hpp"
#include "patterns/ring.hpp"
#include "patterns/switch_blocks.hpp"

namespace antiphon::allgather_by_switch_rings {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per segment; 0 passes on whole blocks"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way to the next rank"},
    {"uplink_bytes", Role::amount, 65536, 1024, 1 << 30, "bytes under way over an uplink"},
};

/// Each rank sends its block to one rank of each other switch, and all blocks that a switch has so go round a ring of
/// its ranks: an uplink carries each block once, where a ring of all ranks carries all blocks over each uplink in both
/// directions. Cost (pLogP): (P−1) g(m) as any allgather's, in P/S + 1 steps for S switches; an uplink carries P/S
/// blocks out and P − P/S in.
Schedule build(const Problem& p) {
  Schedule s;
  const SwitchBlocks blocks(p);
  const Run here = blocks.own();
  const Ring ring{p.rank - here.first, here.size(), cut_of(p), here.first};
  const OpId own = s.copy(p.whole_input(), p.output_block(p.rank));
  const Cut cut = uplink_cut(p, blocks.most_ranks());
  for (const int carrier : blocks.carriers()) {
    if (p.output_block(p.rank).bytes > 0) s.send(carrier, p.output_block(p.rank), {own}, cut);
  }
  RingLanes lanes(ring.cut);
  for (const std::vector<int>& pass : blocks.passes()) {
    std::vector<Range> ranges;
    for (const int place : pass) ranges.push_back(place < 0 ? Range{} : p.output_block(place));
    const int mine = pass[at(ring.rank)];
    Dep have = own;
    if (mine >= 0 && mine != p.rank && p.output_block(mine).bytes > 0)
      have = after(s.recv(mine, p.output_block(mine), {}, cut), cut, ring.cut);
    ring_allgather(s, ring, ranges, have, {}, lanes);
  }
  return s;
}

}  // namespace

extern const Algorithm allgather{
    .collective = Collective::allgather,
    .name = "switch_rings",
    .summary = "each block to one rank of each switch, then rings within switches; several switches",
    .parameters = parameters,
    .supports = has_switches,
    .build = build,
    .any_order = true,
};

extern const Algorithm allgatherv{
    .collective = Collective::allgatherv,
    .name = "switch_rings",
    .summary = "each block to one rank of each switch, then rings within switches; several switches",
    .parameters = parameters,
    .supports = has_switches,
    .build = build,
    .any_order = true,
};

}  // namespace antiphon::allgather_by_switch_rings
