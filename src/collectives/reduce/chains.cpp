// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "antiphon/algorithm.hpp"
#include "antiphon/index.hpp"
#include "patterns/cut.hpp"
#include "patterns/disjoint_paths.hpp"
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
  const int others = p.size - 1;
  const int chains = std::clamp(static_cast<int>(p.parameter("chains")), 1, std::max(disjoint_paths(others), 1));
  const Partition parts(p.bytes, p.element_bytes, chains);
  const Stream stream{cut_of(p)};
  const bool root = p.rank == p.root;
  for (int chain = 0; chain < chains; ++chain) {
    if (parts.size(chain) == 0 && chain > 0) continue;
    const std::vector<int> places = disjoint_path(others, chain);
    const auto rank_at = [&](std::ptrdiff_t i) { return p.absolute(places[static_cast<std::size_t>(i)] + 1); };
    const std::ptrdiff_t mine =
        root ? -1 : std::find(places.begin(), places.end(), p.relative(p.rank) - 1) - places.begin();
    const Range own = parts.of(p.whole_input(), chain);
    Range result = own;
    OpId combined = no_op;
    if (mine + 1 < std::ssize(places)) {
      // An in-place root's output is its operand, still to be read.
      result = root && !p.in_place ? parts.of(p.whole_output(), chain) : s.scratch(own.bytes);
      const OpId received = stream.recv(s, rank_at(mine + 1), result);
      combined = s.reduce(own, result, {pipelined(received)}, stream.cut);
    }
    if (root) s.copy(result, parts.of(p.whole_output(), chain), {pipelined(combined)}, stream.cut);
    if (!root) stream.send(s, mine == 0 ? p.root : rank_at(mine - 1), result, pipelined(combined));
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
