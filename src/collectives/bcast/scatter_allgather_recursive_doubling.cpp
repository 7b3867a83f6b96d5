// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "antiphon/algorithm.hpp"
#include "patterns/broadcast.hpp"
#include "patterns/cut.hpp"
#include "patterns/message_sequence.hpp"

namespace antiphon::bcast_by_scatter_allgather_recursive_doubling {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per segment; 0 sends whole runs of blocks"},
    {"window", Role::ahead, 4, 1, 1024, "segments that a rank may send ahead of what it has received"},
};

/// A step of the doubling at place `core`: the partner, and where the runs of blocks of both begin.
struct Step {
  int other, mine, theirs;
  bool receives, sends;  ///< false: the blocks came with the scatter
};

Step step_of(const Tree& tree, int core, int distance) {
  const int other = core ^ distance;
  return {other, core / distance * distance, other / distance * distance, distance >= tree.last - tree.first,
          distance >= (other & -other) && other != 0};
}

/// A binomial scatter of blocks, then an allgather by recursive doubling in which no rank is sent what it has from the
/// scatter (van de Geijn; Thakur et al., "Optimization of collective communication operations in MPICH", 2005). It runs
/// on the largest power of two of ranks; each other rank is the shadow of one of these, which passes on what it gets.
/// Cost (pLogP): 2 ⌈log2 P⌉ L + 2 m/B, and up to m/B more where P is not a power of two. Good for medium messages.
Schedule build(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p);
  const int half = static_cast<int>(std::bit_floor(static_cast<unsigned>(p.size)));
  const Partition blocks(p.bytes, p.element_bytes, half);
  const int place = p.relative(p.rank);
  const int core = place < half ? place : place - half;
  const bool shadow = place >= half;
  const bool shadowed = !shadow && place + half < p.size;
  const Tree tree = binomial_tree(core, half);
  MessageSequence to_shadow(cut, 2);

  OpId have = no_op;
  const auto pass_on = [&](int first, int last, OpId arrival) {
    const Range range = blocks.of(p.whole_output(), first, last);
    if (range.bytes == 0) return;
    if (shadowed) to_shadow.send(s, p.absolute(place + half), range, {pipelined(arrival)});
    if (shadow) to_shadow.recv(s, p.absolute(place - half), range);
  };
  if (!shadow) have = scatter_output_down(s, p, tree, blocks, cut);
  pass_on(tree.first, tree.last, have);
  OpId arrived = have;
  OpId sent = no_op;
  for (int distance = 1; distance < half; distance *= 2) {
    const auto [other, mine, theirs, receives, sends] = step_of(tree, core, distance);
    OpId received = no_op;
    const Range in = blocks.of(p.whole_output(), theirs, theirs + distance);
    const Range out = blocks.of(p.whole_output(), mine, mine + distance);
    if (!shadow && receives && in.bytes > 0) received = s.recv(p.absolute(other), in, {arrived}, cut, 1);
    if (!shadow && sends && out.bytes > 0) {
      sent = s.send(p.absolute(other), out, {arrived, have, sent}, cut, 1);
      if (received != no_op && pieces_of(in.bytes, cut) == pieces_of(out.bytes, cut))
        s.after(paced(received, cut.window));
    }
    if (receives) pass_on(theirs, theirs + distance, received);
    if (received != no_op) arrived = received;
  }
  return s;
}

}  // namespace

extern const Algorithm bcast{
    .collective = Collective::bcast,
    .name = "scatter_allgather_recursive_doubling",
    .summary = "blocks are scattered, then gathered by recursive doubling; medium messages",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::bcast_by_scatter_allgather_recursive_doubling
