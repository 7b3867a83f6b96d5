// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/circulant_blocks.hpp"

namespace antiphon::bcast_by_circulant {

namespace {

constexpr Parameter parameters[] = {
    {"block_bytes", Role::piece, 8192, 0, 1 << 30,
     "bytes per block, one block a round; 0: the whole message is one block"},
    {"blocks", Role::amount, 64, 1, 4096,
     "the most blocks; longer messages have longer blocks, in pieces of block_bytes"},
    {"window", Role::ahead, 2, 1, 64, "rounds that a rank may be ahead of what it has received"},
};

/// Moves n blocks in the optimal n − 1 + ⌈log2 P⌉ rounds, for any number of ranks: one block in and one out per round
/// (Träff, see patterns/circulant.hpp). Cost (pLogP): (n − 1 + ⌈log2 P⌉) (L + g(m/n)): the chain's rate with a tree's
/// latency.
Schedule build(const Problem& p) {
  Schedule s;
  const Partition blocks = circulant_blocks(p);
  const Cut cut{p.piece_parameter("block_bytes"), 0};
  RoundOrder order(static_cast<int>(p.parameter("window")));
  std::vector<OpId> arrived(static_cast<std::size_t>(blocks.parts()), no_op);
  for (const Circulant::Round& round : Circulant(p.relative(p.rank), p.size).rounds(blocks.parts())) {
    order.begin();
    if (round.to >= 0) {
      const OpId have = arrived[static_cast<std::size_t>(round.send_block)];
      order.sent(s,
                 s.send(p.absolute(round.to), blocks.of(p.whole_output(), round.send_block), {have}, cut, order.tag()));
    }
    if (round.from >= 0) {
      const OpId received =
          s.recv(p.absolute(round.from), blocks.of(p.whole_output(), round.recv_block), {}, cut, order.tag());
      order.received(s, received);
      arrived[static_cast<std::size_t>(round.recv_block)] = received;
    }
  }
  return s;
}

}  // namespace

extern const Algorithm bcast{
    .collective = Collective::bcast,
    .name = "circulant",
    .summary = "blocks in the fewest possible rounds on a circulant graph; medium and long messages",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::bcast_by_circulant
