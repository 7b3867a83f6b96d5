// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/phases.hpp"

namespace antiphon::alltoall_by_exchange_xor {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per piece of a block; 0 sends whole blocks"},
    {"window", Role::ahead, 2, 1, PhasedExchange::all_ahead,
     "pieces a rank may be ahead of what it has received; 1024: all, also without tokens"},
    {"sync", Role::mode, 0, 0, 2,
     "between phases: 0 pacing by pieces alone, 1 a token before each long block, 2 a barrier"},
    {"token_bytes", Role::border, 32768, 0, 1 << 30, "with sync 1: blocks up to this need no token"},
};

/// Phases in which ranks exchange in pairs: rank XOR i if P is a power of two, else the rounds of a round-robin
/// tournament (P−1 for even P; P for odd P, when each rank sits out once). As in `rotated`, pieces are in lock-step,
/// here with the very rank to which they go, so that either side of a pair holds back the other; the longer of two
/// unequal blocks goes on alone. Cost: (P−1)·m over one link, plus a latency per window. Unequal blocks: the largest of
/// all sums over phases of the longer of both blocks.
Schedule build(const Problem& p) {
  Schedule s;
  s.copy(p.input_block(p.rank), p.output_block(p.rank));
  PhasedExchange exchange(s, p);
  for (int phase = 1; phase <= exchange_phases(p.size); ++phase) {
    const auto [to, from] = exchange_partners(p.rank, p.size, phase);
    if (to < 0) exchange.add({});
    else exchange.add({to, p.input_block(to), from, p.output_block(from)});
  }
  return s;
}

}  // namespace

extern const Algorithm alltoall{
    .collective = Collective::alltoall,
    .name = "exchange_xor",
    .summary = "exchanges in pairs, in lock-step pieces; XOR phases or a round-robin tournament",
    .parameters = parameters,
    .build = build,
};

extern const Algorithm alltoallv{
    .collective = Collective::alltoallv,
    .name = "exchange_xor",
    .summary = "exchanges in pairs, in lock-step pieces; blocks of about equal length",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::alltoall_by_exchange_xor
