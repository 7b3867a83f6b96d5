// SPDX-License-Identifier: Apache-2.0
#include "patterns/chains.hpp"
#include "antiphon/algorithm.hpp"
#include "antiphon/index.hpp"
#include "patterns/cut.hpp"
#include "patterns/partition.hpp"
#include "patterns/stream.hpp"
#include "patterns/supports.hpp"

namespace antiphon::reduce_by_chains {

namespace {

constexpr Parameter parameters[] = {
    {"chains", Role::at_once, 4, 1, 64, "parts of the vector, each of which goes along a chain of its own"},
    {"segment_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per segment; 0 passes on a whole part at once"},
    {"window", Role::ahead, 8, 1, 1024, "segments under way to the next rank of a chain"},
};

/// The vector is cut into as many parts as there are chains of all ranks to the root, which have no step in common. A
/// rank combines its operand with what comes from behind, segment by segment, and passes it on. Cost (pLogP): that of a
/// broadcast by chains, and the reduction of a segment in each step. For long vectors where one connection does not
/// fill a port; needs a commutative operation.
Schedule build(const Problem& p) {
  Schedule s;
  const std::vector<ChainPlace> chains = chains_of(p);
  const Partition parts(p.bytes, p.element_bytes, static_cast<int>(chains.size()));
  const Stream stream{cut_of(p)};
  const bool root = p.rank == p.root;
  for (int i = 0; i < parts.parts(); ++i) {
    if (parts.size(i) == 0 && i > 0) continue;
    const ChainPlace& chain = chains[at(i)];
    const Range own = parts.of(p.whole_input(), i);
    Range result = own;
    OpId combined = no_op;
    if (chain.away >= 0) {
      // An in-place root's output is its operand, still to be read.
      result = root && !p.in_place ? parts.of(p.whole_output(), i) : s.scratch(own.bytes);
      const OpId received = stream.recv(s, chain.away, result);
      combined = s.reduce(own, result, {pipelined(received)}, stream.cut);
    }
    if (root) s.copy(result, parts.of(p.whole_output(), i), {pipelined(combined)}, stream.cut);
    if (!root) stream.send(s, chain.towards_root, result, pipelined(combined));
  }
  return s;
}

}  // namespace

extern const Algorithm reduce{
    .collective = Collective::reduce,
    .name = "chains",
    .summary = "parts flow along several chains without a common step; where one connection does not fill a port",
    .parameters = parameters,
    .supports = is_commutative,
    .build = build,
    .many_connections = true,
};

}  // namespace antiphon::reduce_by_chains
