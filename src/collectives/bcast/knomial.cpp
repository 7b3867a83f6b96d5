// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/broadcast.hpp"
#include "patterns/cut.hpp"

namespace antiphon::bcast_by_knomial {

namespace {

constexpr Parameter parameters[] = {
    {"radix", Role::fanout, 4, 2, 64, "a rank tells up to radix−1 others in each round"},
    {"doubling", Role::mode, 0, 0, 1, "1: distances grow from round to round, 0: they shrink"},
    {"segment_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per segment; 0 sends the whole message at once"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way to one rank"},
};

/// The message goes down a k-nomial tree in either of its two orders. With shrinking distances, a subtree is a run of
/// ranks (as in MPICH's binomial and Open MPI's k-nomial broadcast); with doubling ones, the root's first partner is
/// its neighbour (as in Open MPI's binomial one). Both are the same on a switch, but not where neighbours share a node.
/// Cost (pLogP): ⌈log_radix P⌉ (radix−1) g(m) + L.
Schedule build(const Problem& p) {
  Schedule s;
  const int place = p.relative(p.rank);
  const auto radix = static_cast<int>(p.parameter("radix"));
  const Tree tree =
      p.parameter("doubling") != 0 ? doubling_tree(place, p.size, radix) : knomial_tree(place, p.size, radix);
  broadcast_down(s, p, tree, p.whole_output(), cut_of(p), Serve::one_after_another);
  return s;
}

}  // namespace

extern const Algorithm bcast{
    .collective = Collective::bcast,
    .name = "knomial",
    .summary = "a tree whose ranks tell several others a round; short messages, any number of ranks",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::bcast_by_knomial
