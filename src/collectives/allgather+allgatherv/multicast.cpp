// SPDX-License-Identifier: Apache-2.0
#include "patterns/multicast.hpp"
#include "antiphon/algorithm.hpp"

namespace antiphon::allgather_by_multicast {

namespace {

constexpr Parameter parameters[] = {
    {"senders", Role::at_once, 2, 1, 1024, "ranks that send at a time; their messages meet in every receiver's port"},
    {"segment_bytes", Role::piece, 0, 0, 1 << 30,
     "bytes per message to the group; 0 sends all as one, which the transport cuts into packets"},
    {"window", Role::ahead, 4, 1, 64, "messages under way"},
};

/// Each rank's block is multicast in turn; `senders` 1 is the series of broadcasts of paper 1 (§4.2), more keep the
/// wire busy while the next one hears that it is its turn. Cost: every rank's link carries each block once inwards,
/// P·g(m) as any allgather's; but an uplink between switches carries each block once too, where point-to-point
/// algorithms send it to every rank beyond or near so. Each sender waits for its own acknowledgements only.
Schedule build(const Problem& p) {
  Schedule s;
  std::vector<Range> blocks;
  for (int i = 0; i < p.size; ++i) blocks.push_back(p.output_block(i));
  const OpId own = s.copy(p.whole_input(), p.output_block(p.rank));
  multicast_allgather(s, p, blocks, own, static_cast<int>(p.parameter("senders")), multicast_cut(p));
  return s;
}

}  // namespace

extern const Algorithm allgather{
    .collective = Collective::allgather,
    .name = "multicast",
    .summary = "each block multicast in turn; switches joined by slow links, short blocks",
    .parameters = parameters,
    .build = build,
    .multicasts = true,
};

extern const Algorithm allgatherv{
    .collective = Collective::allgatherv,
    .name = "multicast",
    .summary = "each block multicast in turn; switches joined by slow links, short blocks",
    .parameters = parameters,
    .build = build,
    .multicasts = true,
};

}  // namespace antiphon::allgather_by_multicast
