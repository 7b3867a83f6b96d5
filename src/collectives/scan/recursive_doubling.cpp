// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"

namespace antiphon::scan_by_recursive_doubling {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment; 0 sends whole results"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way to one rank"},
};

/// In round i, every rank sends what it has, the result over its last 2^i ranks, to rank + 2^i, and puts what comes
/// from rank − 2^i before its own (Hillis and Steele, "Data parallel algorithms", 1986). Operations need not commute.
/// Cost (pLogP): ⌈log2 P⌉ (L + g(m)). Good for short messages.
Schedule build(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p);
  OpId have = s.copy(p.whole_input(), p.whole_output(), {}, cut);
  const Range buffers[2] = {p.rank >= 1 ? s.scratch(p.bytes) : Range{}, p.rank >= 2 ? s.scratch(p.bytes) : Range{}};
  OpId free[2] = {no_op, no_op};
  int turn = 0;
  for (int distance = 1; distance < p.size; distance *= 2, turn ^= 1) {
    OpId sent = no_op;
    if (p.rank + distance < p.size) sent = s.send(p.rank + distance, p.whole_output(), {pipelined(have)}, cut);
    if (p.rank < distance) continue;
    const OpId received = s.recv(p.rank - distance, buffers[turn], {pipelined(free[turn])}, cut);
    have = s.reduce(buffers[turn], p.whole_output(), {pipelined(received), pipelined(sent), pipelined(have)}, cut);
    free[turn] = have;
  }
  return s;
}

}  // namespace

extern const Algorithm scan{
    .collective = Collective::scan,
    .name = "recursive_doubling",
    .summary = "results at doubling distances; short messages",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::scan_by_recursive_doubling
