// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/phases.hpp"

namespace antiphon::alltoallv_algorithms {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", 16384, 0, 1 << 30, "bytes per piece of a block; 0 sends whole blocks"},
    {"window", 2, 1, 1024, "pieces a rank may be ahead of what it has received"},
    {"sync", 0, 0, 2, "between phases: 0 pacing by pieces alone, 1 a token before each long block, 2 a barrier"},
    {"token_bytes", 32768, 0, 1 << 30, "with sync 1: blocks up to this need no token"},
};

/// Phases in which ranks exchange in pairs (XOR, or a round-robin tournament), in lock-step pieces: a piece leaves when
/// what the same rank has sent back is at most `window` pieces behind, so either side holds back the other; the longer
/// of both blocks goes on alone. Cost: the largest of all sums over phases of the longer of both blocks; (P−1)·m when
/// they are equal.
Schedule build(const Problem& p) {
  Schedule s;
  s.copy(p.input_block(p.rank), p.output_block(p.rank));
  PhasedExchange exchange(s, p, cut_of(p, "piece_bytes"), static_cast<Sync>(p.parameter("sync")),
                          p.parameter("token_bytes"));
  for (int phase = 1; phase <= exchange_phases(p.size); ++phase) {
    const auto [to, from] = exchange_partners(p.rank, p.size, phase);
    if (to < 0) exchange.add({});
    else exchange.add({to, p.input_block(to), from, p.output_block(from)});
  }
  return s;
}

}  // namespace

extern const Algorithm exchange_xor{Collective::alltoallv,
                                    "exchange_xor",
                                    "exchanges in pairs, in lock-step pieces; blocks of about equal length",
                                    parameters,
                                    nullptr,
                                    build};

}  // namespace antiphon::alltoallv_algorithms
