// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/phases.hpp"

namespace antiphon::alltoallv_algorithms {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", 16384, 0, 1 << 30, "bytes per piece of a block; 0 sends whole blocks"},
    {"window", 2, 1, 1024, "pieces a rank may be ahead of what it has received"},
    {"sync", 1, 0, 2, "between phases: 0 pacing by pieces alone, 1 a token before each long block, 2 a barrier"},
    {"token_bytes", 32768, 0, 1 << 30, "with sync 1: blocks up to this need no token"},
};

/// Phase i = 1…P−1: send to rank+i, receive from rank−i; a piece leaves when what came in is at most `window` pieces
/// behind what should have come in by then. Blocks that fit into the window together are all sent at once; empty ones
/// are not sent, and what would have waited for them waits for what came before. PhasedExchange says why no sizes make
/// ranks wait in a circle. Good when all ranks have about the same to send to everyone; a rank that receives little is
/// not held back from sending to one that receives much: for hot spots use sync 1, or `tokens`. Cost: the largest of
/// all sums over phases of the larger of both directions; (P−1)·m when blocks are equal.
Schedule build(const Problem& p) {
  Schedule s;
  s.copy(p.input_block(p.rank), p.output_block(p.rank));
  PhasedExchange exchange(s, p, cut_of(p, "piece_bytes"), static_cast<Sync>(p.parameter("sync")),
                          p.parameter("token_bytes"));
  for (int phase = 1; phase < p.size; ++phase) {
    const auto [to, from] = rotated_partners(p.rank, p.size, phase);
    exchange.add({to, p.input_block(to), from, p.output_block(from)});
  }
  return s;
}

}  // namespace

extern const Algorithm rotated{
    .collective = Collective::alltoallv,
    .name = "rotated",
    .summary = "rotated pairwise phases in lock-step pieces; blocks of about equal length",
    .parameters = parameters,
    .build = build,
    .credit = CreditWay::in_step,
};

}  // namespace antiphon::alltoallv_algorithms
