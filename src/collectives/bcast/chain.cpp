// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/stream.hpp"

namespace antiphon::bcast_by_chain {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment; 0 sends the whole message at once"},
    {"window", Role::ahead, 8, 1, 1024, "segments under way to the next rank"},
    {"granted", Role::mode, 0, 0, 1, granted_means},
};

/// Each rank passes on to the next what it receives from the previous one, segment by segment (paper 5, Table 1).
/// Cost (pLogP): (P−1)(L + g(s)) + (k−1) g(s) for k segments of s bytes. Reaches the wire for long messages; its
/// latency grows with P.
Schedule build(const Problem& p) {
  Schedule s;
  const Stream stream = stream_of(p);
  const int place = p.relative(p.rank);
  OpId have = no_op;
  if (place > 0) have = stream.recv(s, p.absolute(place - 1), p.whole_output());
  if (place < p.size - 1) stream.send(s, p.absolute(place + 1), p.whole_output(), pipelined(have));
  return s;
}

}  // namespace

extern const Algorithm bcast{
    .collective = Collective::bcast,
    .name = "chain",
    .summary = "segments flow along a chain of all ranks; long messages",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::bcast_by_chain
