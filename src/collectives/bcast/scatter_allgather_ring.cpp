// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/broadcast.hpp"
#include "patterns/cut.hpp"

namespace antiphon::bcast_by_scatter_allgather_ring {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per segment of a block; 0 passes on whole blocks"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way to the next rank"},
};

/// The blocks travel round the ring, except to ranks that had them from the scatter.
void ring(Schedule& s, const Problem& p, const Partition& blocks, const Tree& tree, OpId have, Cut cut) {
  const int place = tree.first;
  const int next = (place + 1) % p.size;
  const Tree next_tree = binomial_tree(next, p.size);
  const auto place_of = [&](int i) { return (i % p.size + p.size) % p.size; };
  const auto has = [](const Tree& t, int i) { return i >= t.first && i < t.last; };
  OpId sent = no_op;
  OpId arrived = no_op;               // the receive of the step before
  OpId same_tag[2] = {no_op, no_op};  // two steps' receives are posted at a time, so their tags differ
  for (int step = 1; step < p.size; ++step) {
    const int tag = 1 + step % 2;
    const int goes = place_of(place - step + 1);
    const int comes = place_of(place - step);
    const Range out = blocks.of(p.whole_output(), goes);
    const Range in = blocks.of(p.whole_output(), comes);
    OpId received = no_op;
    if (in.bytes > 0 && !has(tree, comes)) {
      OpId& last = same_tag[step % 2];
      received = last = s.recv(p.absolute(place_of(place - 1)), in, {last}, cut, tag);
    }
    if (out.bytes > 0 && !has(next_tree, goes)) {
      sent = s.send(p.absolute(next), out, {has(tree, goes) ? Dep(have) : pipelined(arrived), sent}, cut, tag);
    }
    arrived = received;
  }
}

/// A binomial scatter of blocks of m/P, then a ring in which every rank passes on block after block (van de Geijn; as
/// in MPICH, without the blocks that a rank has from the scatter: Zhou et al., "A bandwidth-saving optimization for MPI
/// broadcast collective operation", 2015). Cost (pLogP): ⌈log2 P⌉ L + (P−1) (L + g(m/P)) + m/B. Good for long messages;
/// the chain is better where its pipeline fills.
Schedule build(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p);
  const Partition blocks(p.bytes, p.element_bytes, p.size);
  const Tree tree = binomial_tree(p.relative(p.rank), p.size);
  const OpId have = scatter_output_down(s, p, tree, blocks, cut);
  ring(s, p, blocks, tree, have, cut);
  return s;
}

}  // namespace

extern const Algorithm bcast{
    .collective = Collective::bcast,
    .name = "scatter_allgather_ring",
    .summary = "blocks are scattered, then travel round a ring; long messages",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::bcast_by_scatter_allgather_ring
