// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/phases.hpp"

namespace antiphon::alltoall_by_rotated {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per piece of a block; 0 sends whole blocks"},
    {"window", Role::ahead, 2, 1, PhasedExchange::all_ahead,
     "pieces a rank may be ahead of what it has received; 1024: all, also without tokens"},
    {"sync", Role::mode, 1, 0, 2,
     "between phases: 0 pacing by pieces alone, 1 a token before each long block, 2 a barrier"},
    {"token_bytes", Role::border, 32768, 0, 1 << 30, "with sync 1: blocks up to this need no token"},
};

/// Phase i = 1…P−1: send to rank+i, receive from rank−i (paper 1, Figure 2), in lock-step pieces: piece k leaves when
/// piece k−window has come in, across phases too. So about `window` pieces are under way to any port, which keeps a
/// switch's buffer from overflowing. A rank is held back by the rank from which it receives, not by the one to which it
/// sends. Without tokens, ranks therefore drift apart in long blocks until two phases meet in a port (measured on
/// 100 Mb/s, 16 nodes, 64 KiB: 1.5× the wire's time; 1.03× with tokens).
///
/// Blocks of unequal length: those that fit into the window together are all sent at once; empty ones are not sent, and
/// what would have waited for them waits for what came before. PhasedExchange says why no sizes make ranks wait in a
/// circle. A rank that receives little is not held back from sending to one that receives much: hot spots need sync 1,
/// or `tokens`.
///
/// Cost: (P−1)·m over one link, plus a latency per window; with sync 2 plus P−2 barriers. Unequal blocks: the largest
/// of all sums over phases of the longer of both directions.
Schedule build(const Problem& p) {
  Schedule s;
  s.copy(p.input_block(p.rank), p.output_block(p.rank));
  PhasedExchange exchange(s, p);
  for (int phase = 1; phase < p.size; ++phase) {
    const auto [to, from] = rotated_partners(p.rank, p.size, phase);
    exchange.add({to, p.input_block(to), from, p.output_block(from)});
  }
  return s;
}

}  // namespace

extern const Algorithm alltoall{
    .collective = Collective::alltoall,
    .name = "rotated",
    .summary = "rotated pairwise phases in lock-step pieces; contention-free for long blocks",
    .parameters = parameters,
    .build = build,
};

extern const Algorithm alltoallv{
    .collective = Collective::alltoallv,
    .name = "rotated",
    .summary = "rotated pairwise phases in lock-step pieces; blocks of about equal length",
    .parameters = parameters,
    .build = build,
    .credit = CreditWay::in_step,
};

}  // namespace antiphon::alltoall_by_rotated
