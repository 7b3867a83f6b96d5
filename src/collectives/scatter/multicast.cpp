// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "antiphon/algorithm.hpp"
#include "patterns/scatter_multicast.hpp"

namespace antiphon::scatter_by_multicast {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", Role::piece, 0, 0, 1 << 30,
     "bytes per message to the group; 0 sends all as one, which the transport cuts into packets"},
    {"window", Role::ahead, 4, 1, 64, "messages under way"},
};

/// All blocks go as one multicast message, of which each rank keeps its own (paper 1, §4.1: aggregated scatter). Cost:
/// os(P m) + g(P m) + L + or(P m): one message at the root instead of P−1, but P m bytes at every receiver. Good for
/// short blocks.
Schedule build(const Problem& p) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(p.size));
  std::iota(all.begin(), all.end(), 0);
  return scatter_multicast(p, std::move(all));
}

}  // namespace

extern const Algorithm scatter{
    .collective = Collective::scatter,
    .name = "multicast",
    .summary = "all blocks in one multicast, each rank keeps its own; short blocks",
    .parameters = parameters,
    .build = build,
    .multicasts = true,
};

}  // namespace antiphon::scatter_by_multicast
