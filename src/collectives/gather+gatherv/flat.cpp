// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/message_queues.hpp"

namespace antiphon::gather_by_flat {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per piece of a block; 0 sends whole blocks"},
    {"window", Role::ahead, 2, 1, 1024, "pieces under way from one rank"},
    {"senders", Role::at_once, 2, 1, 1024, "ranks that may send to the root at a time"},
    {"eager_bytes", Role::border, 1024, 0, 1 << 30, "blocks up to this are sent without being asked for"},
};

/// Short blocks come without being asked for; the root posts this many receives of them ahead.
constexpr std::int64_t eager_ahead = 32;

void gather_at_root(Schedule& s, const Problem& p, Cut cut) {
  const std::int64_t eager_bytes = p.parameter("eager_bytes");
  MessageQueues granted(p.parameter("senders"), cut);
  MessageQueues eager(eager_ahead, {0, 1});
  for (int place = 1; place < p.size; ++place) {
    const int from = p.absolute(place);
    const Range block = p.output_block(from);
    if (block.bytes == 0) continue;
    if (block.bytes <= eager_bytes) {
      eager.add(s.recv(from, block, {eager.next()}, cut), block.bytes);
      continue;
    }
    // Asked for while the last pieces of the one before are on their way, so that the wire never waits for the grant.
    const Dep asked = granted.within_window();
    s.send_token(from, {asked});
    granted.add(s.recv(from, block, {asked}, cut), block.bytes);
  }
}

/// The root asks a few ranks at a time for their blocks, so that they cannot overrun its port; short blocks come
/// without being asked for. Cost (pLogP): (P−1) g(m) + L, and another L to ask (paper 5's flat gather, with grants).
Schedule build(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p, "piece_bytes");
  if (p.rank == p.root) {
    gather_at_root(s, p, cut);
    s.copy(p.whole_input(), p.output_block(p.rank));
    return s;
  }
  if (p.bytes == 0) return s;
  OpId granted = no_op;
  if (p.bytes > p.parameter("eager_bytes")) granted = s.recv_token(p.root);
  s.send(p.root, p.whole_input(), {granted}, cut);
  return s;
}

}  // namespace

extern const Algorithm gather{
    .collective = Collective::gather,
    .name = "flat",
    .summary = "the root asks a few ranks at a time for their blocks",
    .parameters = parameters,
    .build = build,
};

extern const Algorithm gatherv{
    .collective = Collective::gatherv,
    .name = "flat",
    .summary = "the root asks a few ranks at a time for their blocks",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::gather_by_flat
