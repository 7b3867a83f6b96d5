// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

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
    {"unasked_bytes", Role::amount, 98304, 0, 1 << 30, "longer ones, too, while one of each rank fits into this"},
};

/// The root posts this many receives of unasked messages ahead.
constexpr std::int64_t unasked_ahead = 32;
/// Keeps what is asked for apart from what is not.
constexpr int asked_tag = 1;
/// A block up to so many times a rank's share of unasked bytes begins with that share.
constexpr std::int64_t most_shares = 4;

struct Parts {
  Range unasked;
  Range asked;
};

/// Returns what of a block is sent without being asked for, and the rest. Root and sender know the block, and so agree.
Parts parts_of(const Problem& p, const Range& block) {
  const std::int64_t share = p.parameter("unasked_bytes") / (p.size - 1);
  std::int64_t unasked = 0;
  if (block.bytes <= std::max(share, p.parameter("eager_bytes"))) unasked = block.bytes;
  else if (block.bytes <= most_shares * share) unasked = share;
  return {block.sub(0, unasked), block.sub(unasked, block.bytes - unasked)};
}

void gather_at_root(Schedule& s, const Problem& p, Cut cut) {
  MessageQueues granted(p.parameter("senders"), cut);
  MessageQueues unasked(unasked_ahead, {0, 1});
  for (int place = 1; place < p.size; ++place) {
    const int from = p.absolute(place);
    const Parts parts = parts_of(p, p.output_block(from));
    if (parts.unasked.bytes > 0) unasked.add(s.recv(from, parts.unasked, {unasked.next()}, cut), parts.unasked.bytes);
    if (parts.asked.bytes == 0) continue;
    // Asked for while the last pieces of the one before are on their way, so that the wire never waits for the grant.
    const Dep asked = granted.within_window();
    s.send_token(from, {asked});
    granted.add(s.recv(from, parts.asked, {asked}, cut, asked_tag), parts.asked.bytes);
  }
}

/// The root asks a few ranks at a time for their blocks, so that they cannot overrun its port. Blocks come without
/// being asked for while one of each rank fits into its port: their senders need not wait for a root that is late.
/// Longer blocks begin so, and fill the wire meanwhile. Cost (pLogP): (P−1) g(m) + L, and another L to ask (paper 5's
/// flat gather, with grants).
Schedule build(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p, "piece_bytes");
  if (p.rank == p.root) {
    gather_at_root(s, p, cut);
    s.copy(p.whole_input(), p.output_block(p.rank));
    return s;
  }
  const Parts parts = parts_of(p, p.whole_input());
  if (parts.unasked.bytes > 0) s.send(p.root, parts.unasked, {}, cut);
  if (parts.asked.bytes == 0) return s;
  const OpId granted = s.recv_token(p.root);
  s.send(p.root, parts.asked, {granted}, cut, asked_tag);
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
