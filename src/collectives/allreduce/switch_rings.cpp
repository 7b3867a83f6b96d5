// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "antiphon/algorithm.hpp"
#include "antiphon/index.hpp"
#include "patterns/composition.hpp"
#include "patterns/cut.hpp"
#include "patterns/levels.hpp"
#include "patterns/partition.hpp"
#include "patterns/switch_blocks.hpp"

namespace antiphon::allreduce_by_switch_rings {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment; 0 passes on whole blocks"},
    {"window", Role::ahead, 8, 1, 1024, "segments under way to the next rank"},
    {"uplink_bytes", Role::amount, 65536, 1024, 1 << 30, "bytes under way over an uplink"},
};

bool supported(const Problem& p) { return p.commutative && has_switches(p); }

/// The vector is cut into as many blocks as the smallest switch has ranks. Each switch reduces them round a ring, each
/// to one rank; ranks with the same block add up what the switches have, and the blocks go round each switch's ring
/// once more: an uplink carries each sum once out and in, where a ring of all ranks carries nearly all of the vector
/// twice. Cost (pLogP): 2 (P−1)/P·g(m) as a ring's, in P/S steps for S switches instead of P.
Schedule build(const Problem& p) {
  const Levels switches = Levels::of_switches(p, std::numeric_limits<int>::max());
  const Partition parts(p.bytes, p.element_bytes, switches.lanes());
  const std::vector<int> here = switches.own().places();
  Composition s(p);
  std::vector<Range> operands(here.size(), p.whole_input().sub(0, 0));
  std::vector<Range> results(here.size(), p.whole_output().sub(0, 0));
  int mine = -1;
  for (int lane = 0; lane < switches.lanes(); ++lane) {
    const auto member = at(switches.leader_index(lane));
    operands[member] = parts.of(p.whole_input(), lane);
    results[member] = parts.of(p.whole_output(), lane);
    if (switches.leads(lane)) mine = lane;
  }
  const Range result = results[at(p.rank - here.front())];
  const Range sum = p.in_place ? s.scratch(result.bytes) : result;
  s.between_nodes({.collective = Collective::reduce_scatter,
                   .algorithm = "ring",
                   .members = here,
                   .output = sum,
                   .received = operands});
  if (mine >= 0 && result.bytes > 0) {
    const std::vector<int> leaders = switches.leaders(mine);
    s.between_nodes({.collective = Collective::allreduce,
                     .algorithm = switches.nodes() == 2 ? "recursive_doubling" : "ring",
                     .members = leaders,
                     .input = sum,
                     .output = result,
                     .cut = uplink_cut(p, switches.lanes())});
  }
  s.between_nodes({.collective = Collective::allgatherv,
                   .algorithm = "ring",
                   .members = here,
                   .input = result,
                   .received = results});
  return s.take();
}

}  // namespace

extern const Algorithm allreduce{
    .collective = Collective::allreduce,
    .name = "switch_rings",
    .summary = "rings within switches, and one sum of each block between them; several switches",
    .parameters = parameters,
    .supports = supported,
    .build = build,
};

}  // namespace antiphon::allreduce_by_switch_rings
