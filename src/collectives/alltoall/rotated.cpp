// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/phases.hpp"

namespace antiphon::alltoall_algorithms {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", 16384, 0, 1 << 30, "bytes per piece of a block; 0 sends whole blocks"},
    {"window", 2, 1, 1024, "pieces a rank may be ahead of what it has received"},
    {"sync", 1, 0, 2, "between phases: 0 pacing by pieces alone, 1 a token before each long block, 2 a barrier"},
    {"token_bytes", 32768, 0, 1 << 30, "with sync 1: blocks up to this need no token"},
};

/// Phase i = 1…P−1: send to rank+i, receive from rank−i (paper 1, Figure 2), in lock-step pieces: piece k leaves when
/// piece k−window has come in, across phases too. So about `window` pieces are under way to any port, which is what
/// keeps a switch's buffer from overflowing. But a rank is held back by whom it receives from, not by whom it sends to:
/// without more, ranks drift apart in long blocks until two phases meet in a port (measured on 100 Mb/s, 16 nodes, 64
/// KiB: 1.5× the wire's time; 1.03× with tokens). Cost: (P−1)·m over one link, plus a latency per window; with sync 2
/// plus P−2 barriers.
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
    Collective::alltoall, "rotated", "rotated pairwise phases in lock-step pieces; contention-free for long blocks",
    parameters,           nullptr,   build};

}  // namespace antiphon::alltoall_algorithms
