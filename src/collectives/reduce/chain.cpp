// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/stream.hpp"

namespace antiphon::reduce_by_chain {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", Role::piece, 4096, 0, 1 << 30, "bytes per segment; 0 passes on the whole message at once"},
    {"window", Role::ahead, 8, 1, 1024, "segments under way to the next rank"},
    {"granted", Role::mode, 0, 0, 1, granted_means},
};

constexpr int to_root_tag = 2;

/// The last place begins. Every other place combines its own operand (left) with what comes from behind (right),
/// segment by segment, and passes the result on towards place 0, the root. Combining into what was received needs no
/// copy of the operand. Ordered operations need places in rank order: then rank 0 ends the chain, and passes the result
/// to the root if that is another rank. Cost (pLogP), k segments of s bytes: (P−1) (L + g(s)) + (k−1) g(s): the wire's
/// rate for long messages.
Schedule build(const Problem& p) {
  Schedule s;
  const Stream stream = stream_of(p);
  const Cut& cut = stream.cut;
  const int end = p.commutative ? p.root : 0;  // the rank at place 0
  const int place = (p.rank - end + p.size) % p.size;
  const auto rank_at = [&](int other) { return (other + end) % p.size; };
  const bool root = p.rank == p.root;

  Range result = p.whole_input();
  OpId combined = no_op;
  if (place < p.size - 1) {
    // An in-place root's output is its operand, still to be read.
    result = root && place == 0 && !p.in_place ? p.whole_output() : s.scratch(p.bytes);
    const OpId received = stream.recv(s, rank_at(place + 1), result);
    combined = s.reduce(p.whole_input(), result, {pipelined(received)}, cut);
  }
  OpId sent = no_op;
  if (place > 0) sent = stream.send(s, rank_at(place - 1), result, pipelined(combined));
  if (place == 0 && root) s.copy(result, p.whole_output(), {pipelined(combined)}, cut);
  if (place == 0 && !root) s.send(p.root, result, {pipelined(combined)}, cut, to_root_tag);
  if (place > 0 && root) {
    // In place, the operand is overwritten only after its last use.
    s.recv(rank_at(0), p.whole_output(), {p.in_place ? pipelined(place < p.size - 1 ? combined : sent) : Dep(no_op)},
           cut, to_root_tag);
  }
  return s;
}

}  // namespace

extern const Algorithm reduce{
    .collective = Collective::reduce,
    .name = "chain",
    .summary = "segments flow along a chain of all ranks; long messages",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::reduce_by_chain
