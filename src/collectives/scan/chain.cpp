// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/stream.hpp"

namespace antiphon::scan_by_chain {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment; 0 passes on the whole message at once"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way to the next rank"},
    {"granted", Role::mode, 0, 0, 1, granted_means},
};

/// Every rank combines what comes from the one before it with its operand, and passes the result on, segment by
/// segment. Cost (pLogP), k segments of s bytes: (P−1) (L + g(s)) + (k−1) g(s): the wire's rate for long messages.
Schedule build(const Problem& p) {
  Schedule s;
  const Stream stream = stream_of(p);
  OpId have = s.copy(p.whole_input(), p.whole_output(), {}, stream.cut);
  if (p.rank > 0) {
    const Range before = s.scratch(p.bytes);
    const OpId received = stream.recv(s, p.rank - 1, before);
    have = s.reduce(before, p.whole_output(), {pipelined(received), pipelined(have)}, stream.cut);
  }
  if (p.rank < p.size - 1) stream.send(s, p.rank + 1, p.whole_output(), pipelined(have));
  return s;
}

}  // namespace

extern const Algorithm scan{
    .collective = Collective::scan,
    .name = "chain",
    .summary = "segments flow along a chain of all ranks; long messages",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::scan_by_chain
