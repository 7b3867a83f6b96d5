// SPDX-License-Identifier: Apache-2.0
#include "patterns/ring.hpp"
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/supports.hpp"

namespace antiphon::allreduce_by_ring {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment; 0 passes on whole blocks"},
    {"window", Role::ahead, 8, 1, 1024, "segments a rank may be ahead of what it has received"},
};

/// The vector is cut into P blocks, each reduced on its way round the ring, and each goes round once more with the
/// result. A step moves only m/P, so its latency must not count: segments are reduced and passed on as they come in,
/// and steps follow each other without a gap. Cost (pLogP): 2 (P−1)/P·g(m) + (P−1)·2 (L + g(segment)) when blocks are
/// one segment long, without the L when they are several. Each port carries one stream. Good for long vectors; needs a
/// commutative operation.
Schedule build(const Problem& p) {
  Schedule s;
  const Ring ring{p.rank, p.size, cut_of(p)};
  if (p.size == 1) {
    s.copy(p.whole_input(), p.whole_output());
    return s;
  }
  const auto [blocks, reduced] = ring_reduce_vector(s, ring, p);
  ring_allgather(s, ring, blocks, pipelined(reduced.result), reduced.last_use);
  return s;
}

}  // namespace

extern const Algorithm allreduce{
    .collective = Collective::allreduce,
    .name = "ring",
    .summary = "blocks reduced and passed on round the ring in segments; long vectors",
    .parameters = parameters,
    .supports = is_commutative,
    .build = build,
};

}  // namespace antiphon::allreduce_by_ring
