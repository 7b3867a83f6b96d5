// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/phases.hpp"

namespace antiphon::barrier_by_dissemination {

namespace {

/// In each of ⌈log2 P⌉ rounds i, a token goes to rank + 2^i and one comes from rank − 2^i. Cost (pLogP): ⌈log2 P⌉ (L +
/// g(0)).
Schedule build(const Problem& p) {
  Schedule s;
  add_barrier(s, p.rank, p.size, {}, 0);
  return s;
}

}  // namespace

extern const Algorithm barrier{
    .collective = Collective::barrier,
    .name = "dissemination",
    .summary = "tokens at doubling distances",
    .build = build,
};

}  // namespace antiphon::barrier_by_dissemination
