// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/multicast.hpp"
#include "patterns/ring.hpp"
#include "patterns/supports.hpp"

namespace antiphon::allreduce_by_ring_multicast {

namespace {

constexpr Parameter parameters[] = {
    {"senders", Role::at_once, 2, 1, 1024, "ranks that multicast at a time"},
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment on the ring; 0 passes on whole blocks"},
    {"window", Role::ahead, 8, 1, 1024, "segments under way to the next rank"},
};

/// The vector is cut into P blocks, each reduced on its way round the ring, and then multicast by the rank where it is
/// complete. Cost (pLogP): (P−1)/P·g(m) + (P−1)(L + g(segment)) as `ring`'s first half, and m once over every link, but
/// without the latencies of a second round; an uplink carries each block once. Good for long vectors; needs a
/// commutative operation.
Schedule build(const Problem& p) {
  Schedule s;
  const Ring ring{p.rank, p.size, cut_of(p)};
  if (p.size == 1) {
    s.copy(p.whole_input(), p.whole_output());
    return s;
  }
  const auto [blocks, reduced] = ring_reduce_vector(s, ring, p);
  multicast_allgather(s, p, blocks, reduced.result, static_cast<int>(p.parameter("senders")), {}, reduced.last_use);
  return s;
}

}  // namespace

extern const Algorithm allreduce{
    .collective = Collective::allreduce,
    .name = "ring_multicast",
    .summary = "blocks reduced round the ring, then multicast; long vectors",
    .parameters = parameters,
    .supports = is_commutative,
    .build = build,
    .multicasts = true,
};

}  // namespace antiphon::allreduce_by_ring_multicast
