// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/multicast.hpp"
#include "patterns/partition.hpp"
#include "patterns/ring.hpp"

namespace antiphon::allreduce_algorithms {

namespace {

constexpr Parameter parameters[] = {
    {"senders", 2, 1, 1024, "ranks that multicast at a time"},
    {"segment_bytes", 8192, 0, 1 << 30, "bytes per segment on the ring; 0 passes on whole blocks"},
    {"window", 8, 1, 1024, "segments under way to the next rank"},
};

/// The vector is cut into P blocks, each reduced on its way round the ring, and then multicast by the rank where it is complete. Cost
/// (pLogP): (P−1)/P·g(m) + (P−1)(L + g(segment)) as `ring`'s first half, and m once over every link, but without the latencies of a
/// second round; an uplink carries each block once. Long vectors; needs a commutative operation.
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
  multicast_allgather(s, p, outputs, reduced.result, static_cast<int>(p.parameter("senders")), {}, reduced.last_use);
  return s;
}

bool supports_problem(const Problem& p) { return p.commutative; }

}  // namespace

extern const Algorithm ring_multicast{Collective::allreduce, "ring_multicast", "blocks reduced round the ring, then multicast; long vectors",
                                      parameters, supports_problem, build, Knowledge::local, true};

}  // namespace antiphon::allreduce_algorithms
