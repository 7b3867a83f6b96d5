// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/message_sequence.hpp"
#include "patterns/slots.hpp"

namespace antiphon::gather_by_chain {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per segment of a block; 0 passes on whole blocks"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way to the next rank"},
};

/// Every rank sends its own block towards the root first, then passes on what comes from behind, segment by segment:
/// each port takes in one stream, which does not stop until the last block is through. Passing on needs memory for a
/// few blocks. Cost (pLogP): (P−1) g(m), with a latency per block and not per rank; for long blocks this is the wire's
/// limit.
Schedule build(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p);
  const int place = p.relative(p.rank);
  const int nearer = p.absolute(place - 1 + p.size);
  const int farther = p.absolute(place + 1);
  MessageSequence in(cut);
  MessageSequence out(cut);
  if (place > 0) out.send(s, nearer, p.whole_input());
  Slots slots(s, place > 0 ? p.size - place - 1 : 0, p.bytes, cut);
  for (int from = place + 1; from < p.size; ++from) {
    if (place == 0) {
      in.recv(s, farther, p.output_block(p.absolute(from)));
      continue;
    }
    const Range slot = slots.next();
    const OpId received = in.recv(s, farther, slot, {slots.free()});
    slots.used_until(out.send(s, nearer, slot, {pipelined(received)}));
  }
  if (place == 0) s.copy(p.whole_input(), p.output_block(p.rank));
  return s;
}

}  // namespace

extern const Algorithm gather{
    .collective = Collective::gather,
    .name = "chain",
    .summary = "blocks flow along a chain to the root; long blocks",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::gather_by_chain
