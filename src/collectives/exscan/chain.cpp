// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/stream.hpp"

namespace antiphon::exscan_by_chain {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment; 0 passes on the whole message at once"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way to the next rank"},
    {"granted", Role::mode, 0, 0, 1, granted_means},
};

/// What comes from the rank before is the result; combined with the rank's operand it goes on, segment by segment.
/// Cost (pLogP), k segments of s bytes: (P−1) (L + g(s)) + (k−1) g(s): the wire's rate for long messages.
Schedule build(const Problem& p) {
  Schedule s;
  const Stream stream = stream_of(p);
  const bool last = p.rank == p.size - 1;
  if (p.rank == 0) {
    if (!last) stream.send(s, 1, p.whole_input(), no_op);
    return s;
  }
  if (last) {
    stream.recv(s, p.rank - 1, p.whole_output());
    return s;
  }
  const Range inclusive = s.scratch(p.bytes);
  const OpId copied = s.copy(p.whole_input(), inclusive, {}, stream.cut);
  // In place, the result overwrites the operand.
  const OpId received = stream.recv(s, p.rank - 1, p.whole_output(), p.in_place ? pipelined(copied) : Dep(no_op));
  const OpId have = s.reduce(p.whole_output(), inclusive, {pipelined(received), pipelined(copied)}, stream.cut);
  stream.send(s, p.rank + 1, inclusive, pipelined(have));
  return s;
}

}  // namespace

extern const Algorithm exscan{
    .collective = Collective::exscan,
    .name = "chain",
    .summary = "segments flow along a chain of all ranks; long messages",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::exscan_by_chain
