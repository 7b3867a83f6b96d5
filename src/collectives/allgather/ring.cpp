// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"

namespace antiphon::allgather_algorithms {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", 16384, 0, 1 << 30, "bytes per segment; 0 passes on whole blocks"},
    {"window", 4, 1, 1024, "segments of one block under way to the next rank"},
};

/// P−1 steps; in step s every rank passes on the block that it received in step s−1, segment by segment as it comes in.
/// Cost (pLogP): (P−1)(L + g(m)), without the L when segmented. One stream a port: never contends, for any P.
Schedule build(const Problem& p) {
  Schedule s;
  const Cut cut{p.piece_parameter("segment_bytes"), static_cast<std::int32_t>(p.parameter("window"))};
  const int next = (p.rank + 1) % p.size;
  const int prev = (p.rank - 1 + p.size) % p.size;
  OpId have = s.copy(p.whole_input(), p.output_block(p.rank));
  OpId sent = no_op;
  for (int step = 1; step < p.size; ++step) {
    const Range out = p.output_block((p.rank - step + 1 + p.size) % p.size);
    const Range in = p.output_block((p.rank - step + p.size) % p.size);
    const OpId received = s.recv(prev, in, {step > 1 ? Dep(have, Dep::whole) : Dep(no_op)}, cut);
    sent = s.send(next, out, {step > 1 ? pipelined(have) : Dep(have), sent}, cut);
    have = received;
  }
  return s;
}

}  // namespace

extern const Algorithm ring{Collective::allgather, "ring", "blocks travel round the ring; long blocks, any number of ranks",
                            parameters, nullptr, build};

}  // namespace antiphon::allgather_algorithms
