// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/scatter_multicast.hpp"

namespace antiphon::scatterv_by_multicast {

namespace {

constexpr Parameter parameters[] = {
    {"members", Role::mode, 0, 0, 2,
     "who takes the message: 0 all ranks, 1 those with a block, 2 these, as a group for this call alone"},
    {"segment_bytes", Role::piece, 0, 0, 1 << 30,
     "bytes per message to the group; 0 sends all as one, which the transport cuts into packets"},
    {"window", Role::ahead, 4, 1, 64, "messages under way"},
};

/// All blocks go as one multicast message, of which each rank keeps its own (paper 1, §4.1). Every rank must first know
/// all sizes: that is the first of the paper's two broadcasts. With `members` 0 all ranks of the communicator take the
/// message (the paper's static groups); with 1 only ranks with a block do, and the group for each such set of ranks is
/// kept; with 2 their group is made for this call alone (the paper's dynamic groups). Cost: os(M) + g(M) + L + or(M)
/// with M the sum of all blocks. Good for short blocks and few receivers.
Schedule build(const Problem& p) {
  std::vector<std::int32_t> members;
  for (int i = 0; i < p.size; ++i) {
    if (p.parameter("members") == 0 || i == p.root || p.send_bytes[static_cast<std::size_t>(i)] > 0)
      members.push_back(i);
  }
  return scatter_multicast(p, std::move(members));
}

}  // namespace

extern const Algorithm scatterv{
    .collective = Collective::scatterv,
    .name = "multicast",
    .summary = "all blocks in one multicast to all, or to those who get something; short blocks",
    .parameters = parameters,
    .build = build,
    .knowledge = Knowledge::all_counts,
    .multicasts = true,
};

}  // namespace antiphon::scatterv_by_multicast
