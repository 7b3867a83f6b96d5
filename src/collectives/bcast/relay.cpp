// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/partition.hpp"

namespace antiphon::bcast_algorithms {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", Role::piece, 4096, 0, 1 << 30, "bytes per segment of a share; 0 passes on whole shares"},
    {"window", Role::ahead, 2, 1, 1024, "segments under way to each rank"},
};

/// The root deals the message out in P−1 equal shares, and each rank passes its own on to all others while it comes in,
/// segment by segment. No rank sends or receives more than the message, and no connection carries more than a share: so
/// ports are full although each connection fills but a part of them. It is the least time of peers that share their
/// upload (Kumar and Ross, 2006). Cost (pLogP): g(m) + (P−2) g(s) + 2L. For one switch; links between switches are
/// crossed many times.
Schedule build(const Problem& p) {
  Schedule s;
  const int others = p.size - 1;
  const int place = p.relative(p.rank);
  const Cut cut = cut_of(p);
  const Partition shares(p.bytes, p.element_bytes, others > 0 ? others : 1);
  const auto share = [&](int of_place) { return shares.of(p.whole_output(), of_place - 1); };
  if (place == 0) {
    for (int to = 1; to <= others; ++to) s.send(p.absolute(to), share(to), {}, cut);
    return s;
  }
  const OpId own = s.recv(p.root, share(place), {}, cut);
  for (int away = 1; away < others; ++away) {
    const int to = (place - 1 + away) % others + 1;
    const int from = (place - 1 - away + others) % others + 1;
    s.recv(p.absolute(from), share(from), {}, cut);
    s.send(p.absolute(to), share(place), {pipelined(own)}, cut);
  }
  return s;
}

}  // namespace

extern const Algorithm relay{
    .collective = Collective::bcast,
    .name = "relay",
    .summary = "each rank passes its share on to all others; long messages where one connection does not fill a port",
    .parameters = parameters,
    .build = build,
    .from_all = true,
};

}  // namespace antiphon::bcast_algorithms
