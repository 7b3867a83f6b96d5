// SPDX-License-Identifier: Apache-2.0
#include "patterns/chains.hpp"
#include "antiphon/algorithm.hpp"
#include "antiphon/index.hpp"
#include "patterns/cut.hpp"
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
  const std::vector<ChainPlace> chains = chains_of(p);
  const Partition parts(p.bytes, 1, static_cast<int>(chains.size()));
  const Stream stream{cut_of(p)};
  for (int i = 0; i < parts.parts(); ++i) {
    const Range part = parts.of(p.whole_output(), i);
    if (part.bytes == 0 && i > 0) continue;
    const ChainPlace& chain = chains[at(i)];
    OpId have = no_op;
    if (chain.towards_root >= 0) have = stream.recv(s, chain.towards_root, part);
    if (chain.away >= 0) stream.send(s, chain.away, part, pipelined(have));
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
