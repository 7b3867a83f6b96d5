// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"

namespace antiphon::exscan_by_recursive_doubling {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment; 0 sends whole results"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way to one rank"},
};

/// As scan's: every rank sends the result over its last 2^i ranks, itself among them, to rank + 2^i. What comes is put
/// before that, and before the result without this rank's operand, which is the output. Operations need not commute.
/// Cost (pLogP): ⌈log2 P⌉ (L + g(m)). Good for short messages.
Schedule build(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p);
  if (p.rank == 0) {
    for (int distance = 1; distance < p.size; distance *= 2) s.send(distance, p.whole_input(), {}, cut);
    return s;
  }
  const Range inclusive = s.scratch(p.bytes);
  OpId have = s.copy(p.whole_input(), inclusive, {}, cut);
  const Range buffers[2] = {p.rank >= 2 ? s.scratch(p.bytes) : Range{}, p.rank >= 4 ? s.scratch(p.bytes) : Range{}};
  OpId free[2] = {no_op, no_op};
  OpId result = no_op;
  int turn = 0;
  for (int distance = 1; distance < p.size; distance *= 2) {
    OpId sent = no_op;
    if (p.rank + distance < p.size) sent = s.send(p.rank + distance, inclusive, {pipelined(have)}, cut);
    if (p.rank < distance) continue;
    const bool first = result == no_op;  // what comes first is the result so far; in place, it overwrites the operand
    const Range before = first ? p.whole_output() : buffers[turn];
    const OpId received = s.recv(p.rank - distance, before, {first ? pipelined(have) : pipelined(free[turn])}, cut);
    have = s.reduce(before, inclusive, {pipelined(received), pipelined(sent), pipelined(have)}, cut);
    if (first) {
      result = have;
      continue;
    }
    result = free[turn] =
        s.reduce(before, p.whole_output(), {pipelined(received), pipelined(result), pipelined(have)}, cut);
    turn ^= 1;
  }
  return s;
}

}  // namespace

extern const Algorithm exscan{
    .collective = Collective::exscan,
    .name = "recursive_doubling",
    .summary = "results at doubling distances; short messages",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::exscan_by_recursive_doubling
