// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/message_sequence.hpp"
#include "patterns/slots.hpp"

namespace antiphon::scatter_by_chain {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per segment of a block; 0 passes on whole blocks"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way to the next rank"},
};

/// The root sends the block of the farthest rank first; every rank passes on all blocks but the last, which is its own:
/// each port takes in one stream. Passing on needs memory for a few blocks. Cost (pLogP): (P−1) g(m) + L for long
/// blocks; every rank has its own block at about the same time.
Schedule build(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p);
  const int place = p.relative(p.rank);
  const int nearer = p.absolute(place - 1 + p.size);
  const int farther = p.absolute(place + 1);
  MessageSequence in(cut);
  MessageSequence out(cut);
  Slots slots(s, place > 0 ? p.size - place - 1 : 0, p.bytes, cut);
  for (int to = p.size - 1; to > place; --to) {
    if (place == 0) {
      out.send(s, farther, p.input_block(p.absolute(to)));
      continue;
    }
    const Range slot = slots.next();
    const OpId received = in.recv(s, nearer, slot, {slots.free()});
    slots.used_until(out.send(s, farther, slot, {pipelined(received)}));
  }
  if (place > 0) in.recv(s, nearer, p.whole_output());
  if (place == 0) s.copy(p.input_block(p.rank), p.whole_output());
  return s;
}

}  // namespace

extern const Algorithm scatter{
    .collective = Collective::scatter,
    .name = "chain",
    .summary = "blocks flow along a chain from the root; long blocks",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::scatter_by_chain
