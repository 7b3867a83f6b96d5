// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "antiphon/algorithm.hpp"
#include "antiphon/index.hpp"
#include "patterns/cut.hpp"
#include "patterns/disjoint_paths.hpp"
#include "patterns/partition.hpp"
#include "patterns/stream.hpp"

namespace antiphon::bcast_by_chains {

namespace {

constexpr Parameter parameters[] = {
    {"chains", Role::at_once, 4, 1, 64, "parts of the message, each of which goes along a chain of its own"},
    {"segment_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per segment; 0 sends a whole part at once"},
    {"window", Role::ahead, 8, 1, 1024, "segments under way to the next rank of a chain"},
};

/// The message is cut into as many parts as there are chains of all ranks. No two chains take the same step from one
/// rank to another, so a rank has a connection for each part on either side. Cost (pLogP) with c chains and k segments
/// of s bytes in a part: (P−1)(L + g(s)) + (k−1) g(s), where g is a connection's, or c times the port's if that is
/// longer. For long messages where one connection does not fill a port.
Schedule build(const Problem& p) {
  Schedule s;
  const int others = p.size - 1;
  const int chains = std::clamp(static_cast<int>(p.parameter("chains")), 1, std::max(disjoint_paths(others), 1));
  const Partition parts(p.bytes, 1, chains);
  const Stream stream{cut_of(p)};
  for (int chain = 0; others > 0 && chain < chains; ++chain) {
    const Range part = parts.of(p.whole_output(), chain);
    if (part.bytes == 0 && chain > 0) continue;
    const std::vector<int> places = disjoint_path(others, chain);
    const auto rank_at = [&](std::ptrdiff_t i) { return p.absolute(places[static_cast<std::size_t>(i)] + 1); };
    const bool root = p.rank == p.root;
    const std::ptrdiff_t mine =
        root ? -1 : std::find(places.begin(), places.end(), p.relative(p.rank) - 1) - places.begin();
    OpId have = no_op;
    if (!root) have = stream.recv(s, mine == 0 ? p.root : rank_at(mine - 1), part);
    if (mine + 1 < std::ssize(places)) stream.send(s, rank_at(mine + 1), part, pipelined(have));
  }
  return s;
}

}  // namespace

extern const Algorithm bcast{
    .collective = Collective::bcast,
    .name = "chains",
    .summary = "parts flow along several chains without a common step; where one connection does not fill a port",
    .parameters = parameters,
    .build = build,
    .many_connections = true,
};

}  // namespace antiphon::bcast_by_chains
