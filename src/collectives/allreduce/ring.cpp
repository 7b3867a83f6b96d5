// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/partition.hpp"
#include "patterns/ring.hpp"

namespace antiphon::allreduce_algorithms {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", 8192, 0, 1 << 30, "bytes per segment; 0 passes on whole blocks"},
    {"window", 8, 1, 1024, "segments under way to the next rank"},
};

/// The vector is cut into P blocks, each reduced on its way round the ring, and each goes round once more with the result. A
/// step moves m/P only, so its latency must not count: segments are reduced and passed on as they come, and steps follow each
/// other without a gap. Cost (pLogP): 2 (P−1)/P·g(m) + (P−1)·2 (L + g(segment)) when blocks are one segment long, without
/// the L when they are several. One stream a port. Long vectors; needs a commutative operation.
Schedule build(const Problem& p) {
  Schedule s;
  const Ring ring{p.rank, p.size, cut_of(p)};
  if (p.size == 1) {
    s.copy(p.whole_input(), p.whole_output());
    return s;
  }
  const Partition parts(p.bytes, p.element_bytes, p.size);
  std::vector<Range> inputs;
  std::vector<Range> outputs;
  for (int i = 0; i < p.size; ++i) {
    outputs.push_back(parts.of(p.whole_output(), i));
    inputs.push_back(p.in_place ? outputs.back() : parts.of(p.whole_input(), i));
  }
  const std::vector<Range> landing = p.in_place ? std::vector<Range>{} : outputs;
  const auto reduced = ring_reduce_scatter(s, ring, {inputs, landing, outputs[ring.wrap(p.rank)]});
  ring_allgather(s, ring, outputs, pipelined(reduced.result), reduced.last_use);
  return s;
}

bool supports_problem(const Problem& p) { return p.commutative; }

}  // namespace

extern const Algorithm ring{Collective::allreduce, "ring", "blocks reduced and passed on round the ring in segments; long vectors",
                            parameters, supports_problem, build};

}  // namespace antiphon::allreduce_algorithms
