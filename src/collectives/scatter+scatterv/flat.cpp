// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/message_queues.hpp"

namespace antiphon::scatter_by_flat {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per piece of a block; 0 sends whole blocks"},
    {"window", Role::ahead, 4, 1, 1024, "pieces under way to one rank"},
    {"destinations", Role::at_once, 2, 1, 1024, "ranks that the root serves at a time"},
};

/// The root sends every rank its block, a few ranks at a time, piece by piece: only its own port is the limit. Cost
/// (pLogP): (P−1) g(m) + L (paper 5, Table 2, "flat").
Schedule build(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p, "piece_bytes");
  if (p.rank != p.root) {
    if (p.bytes > 0) s.recv(p.root, p.whole_output(), {}, cut);
    return s;
  }
  MessageQueues queues(p.parameter("destinations"), cut);
  for (int place = 1; place < p.size; ++place) {
    const Range block = p.input_block(p.absolute(place));
    if (block.bytes > 0) queues.add(s.send(p.absolute(place), block, {queues.next()}, cut), block.bytes);
  }
  s.copy(p.input_block(p.rank), p.whole_output());
  return s;
}

}  // namespace

extern const Algorithm scatter{
    .collective = Collective::scatter,
    .name = "flat",
    .summary = "the root sends each its block, a few ranks at a time",
    .parameters = parameters,
    .build = build,
};

extern const Algorithm scatterv{
    .collective = Collective::scatterv,
    .name = "flat",
    .summary = "the root sends each its block, a few ranks at a time",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::scatter_by_flat
