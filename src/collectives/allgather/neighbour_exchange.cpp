// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/gathered.hpp"

namespace antiphon::allgather_by_neighbour_exchange {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per piece; 0 sends whole messages"},
    {"window", Role::ahead, 2, 1, 1024, "pieces ahead of what comes in"},
};

/// Neighbours exchange: own blocks first, then, with the neighbour on the other side and in turns, the two blocks that
/// came in the step before. P/2 steps, each rank talks to two others only. Cost (pLogP): P/2 · L + (P−1) g(m). Even P
/// only. J. Chen et al., "Performance evaluation of allgather algorithms on terascale Linux cluster with fast
/// Ethernet", 2005.
Schedule build(const Problem& p) {
  Schedule s;
  GatheredBlocks blocks(s, p, cut_of(p, "piece_bytes"));
  // Pairs of blocks 2j, 2j+1 travel together, in both directions; odd ranks face the other way.
  const int pairs = p.size / 2;
  const int own_pair = p.rank / 2;
  const int direction = p.rank % 2 == 0 ? 1 : -1;
  const int neighbours[] = {(p.rank + direction + p.size) % p.size, (p.rank - direction + p.size) % p.size};
  auto received = p.size > 1 ? blocks.recv(neighbours[0], {{neighbours[0], 1}}, 0) : std::vector<OpId>{};
  if (p.size > 1) blocks.send(neighbours[0], {{p.rank, 1}}, {blocks.own()}, 0);
  std::vector<OpId> have{blocks.own()};
  have.insert(have.end(), received.begin(), received.end());
  int out_pair = own_pair;
  OpId before_last = no_op;
  for (int step = 1; step < pairs; ++step) {
    // Odd steps bring what comes from behind, even steps what comes from ahead.
    const int side = step % 2;
    const int distance = side == 1 ? -(step + 1) / 2 : step / 2;
    const int in_pair = ((own_pair + direction * distance) % pairs + pairs) % pairs;
    const int tag = step % 1000;
    received = blocks.recv(neighbours[side], {{2 * in_pair, 2}}, tag, before_last);
    blocks.send(neighbours[side], {{2 * out_pair, 2}}, have, tag);
    before_last = have.back();
    have = received;
    out_pair = in_pair;
  }
  return s;
}

bool supports_problem(const Problem& p) { return p.size % 2 == 0 || p.size == 1; }

}  // namespace

extern const Algorithm allgather{
    .collective = Collective::allgather,
    .name = "neighbour_exchange",
    .summary = "neighbours on either side exchange in turns; even numbers of ranks, medium blocks",
    .parameters = parameters,
    .supports = supports_problem,
    .build = build,
};

}  // namespace antiphon::allgather_by_neighbour_exchange
