// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/broadcast.hpp"
#include "patterns/cut.hpp"

namespace antiphon::bcast_by_binomial {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per segment; 0 sends the whole message at once"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way to one rank"},
};

/// In round i every rank that has the message sends it on, to the largest subtree first. Each child gets all of it
/// before the next one gets any, so that the first one can pass it on early. Cost (pLogP): ⌈log2 P⌉ (L + g(m)) (paper
/// 5, Table 1).
Schedule build(const Problem& p) {
  Schedule s;
  broadcast_down(s, p, binomial_tree(p.relative(p.rank), p.size), p.whole_output(), cut_of(p),
                 Serve::one_after_another);
  return s;
}

}  // namespace

extern const Algorithm bcast{
    .collective = Collective::bcast,
    .name = "binomial",
    .summary = "a binomial tree; short messages, any number of ranks",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::bcast_by_binomial
