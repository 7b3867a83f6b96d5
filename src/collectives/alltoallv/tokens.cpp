// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/granted.hpp"

namespace antiphon::alltoallv_by_tokens {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", Role::piece, 16384, 1, 1 << 30,
     "bytes per piece; blocks of at most one piece are sent without asking"},
    {"window", Role::ahead, 2, 1, 64, "pieces that a receiver has granted to one sender and not yet received"},
    {"senders", Role::at_once, 2, 1, 64, "senders of long blocks that a receiver lets send at a time"},
};

/// Receivers grant long blocks piece by piece, in a fixed order: granted_exchange() says how, and why no rank waits for
/// ever. Cost: the bytes into the busiest port plus a latency per lane, and one small packet per piece; good for skewed
/// and irregular sizes, where a sender cannot know which others send to the same port.
Schedule build(const Problem& p) {
  const Cut cut = cut_of(p, "piece_bytes");
  return granted_exchange(p, {cut, p.parameter("senders"), cut.piece_bytes});
}

}  // namespace

extern const Algorithm alltoallv{
    .collective = Collective::alltoallv,
    .name = "tokens",
    .summary = "receivers grant long blocks piece by piece; skewed sizes and hot spots",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::alltoallv_by_tokens
