// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "antiphon/problem.hpp"
#include "antiphon/schedule.hpp"
#include "patterns/lane.hpp"

namespace antiphon {

/// A ring of consecutive ranks, of all unless `first` or `order` says otherwise. Blocks travel round it cut into
/// segments that are passed on as they come in: step after step without a gap, with a latency per segment rather than
/// per step. Every port receives one stream. A rank sends at most `window` segments more than it has received, as bytes
/// are counted from the start of a pass: so a window a rank is under way in all, and ports drop nothing.
struct Ring {
  int rank = 0;  ///< this rank's place on the ring
  int size = 1;
  Cut cut;
  int first = 0;           ///< the rank of the ring's place 0
  std::vector<int> order;  ///< the rank at each place, if they do not follow one another

  [[nodiscard]] int at_place(int place) const { return order.empty() ? first + place : order[wrap(place)]; }
  [[nodiscard]] int next() const { return at_place((rank + 1) % size); }
  [[nodiscard]] int prev() const { return at_place((rank - 1 + size) % size); }
  [[nodiscard]] std::size_t wrap(int i) const { return static_cast<std::size_t>(((i % size) + size) % size); }
};

/// The receives and the sends of a rank. Passes round one ring that share them follow each other without a gap.
struct RingLanes {
  Cut recv_cut, send_cut;
  Lane received, sent;
  int steps = 0;  ///< of earlier passes
  explicit RingLanes(const Cut& cut)
      : recv_cut{cut.piece_bytes, 2 * cut.window}, send_cut(cut), received(recv_cut), sent(send_cut) {}
  /// The send added last follows the one before, at most a window ahead of what is received from `start` on. A shorter
  /// one cannot be further ahead, since it waits for what came in before `start`.
  void append_send(Schedule& s, std::int64_t start) {
    if (s.ops().back().pieces() > send_cut.window) received.pace(s, start, send_cut.window);
    sent.append(s);
  }
};

/// Every rank passes on block after block: blocks[rank] is in place after `own`, and in the end all blocks are. Empty
/// blocks are not sent. `busy`: per block, the operation of this rank that last used its memory; empty or no_op: there
/// is none. No deadlock with unequal blocks: a piece waits for pieces of earlier steps, or of its step nearer to the
/// start. Returns per block the operation that brings it (no_op for empty ones and the rank's own).
std::vector<OpId> ring_allgather(Schedule& s, const Ring& ring, std::span<const Range> blocks, Dep own,
                                 std::span<const OpId> busy = {});
std::vector<OpId> ring_allgather(Schedule& s, const Ring& ring, std::span<const Range> blocks, Dep own,
                                 std::span<const OpId> busy, RingLanes& lanes);

/// What a rank gives to a reduce-scatter on a ring.
struct RingOperands {
  std::span<const Range> operands;  ///< per block: this rank's operand; only read
  std::span<const Range> landing;   ///< per block: memory for the partial result; empty: scratch that is used again
  Range result;                     ///< of block `rank`: apart from the operands, or the operand itself
};

struct RingReduced {
  OpId result = no_op;         ///< piece by piece: the result is there
  std::vector<OpId> last_use;  ///< per block: the last operation that uses its operand or landing (none of `result`'s)
};

/// Block b is reduced on its way from rank b+1 round the ring to rank b: each rank adds its operand to the segments
/// that come in and passes them on. Needs a commutative operation. Empty blocks are not sent.
RingReduced ring_reduce_scatter(Schedule& s, const Ring& ring, const RingOperands& memory, OpId ready = no_op);
RingReduced ring_reduce_scatter(Schedule& s, const Ring& ring, const RingOperands& memory, OpId ready,
                                RingLanes& lanes);

/// An allreduce's first half: its vector in P blocks, of which that of the rank's place is complete here.
struct RingReducedVector {
  std::vector<Range> blocks;  ///< of the output
  RingReduced reduced;
};

/// A part of an allreduce's operand, and of its result.
struct VectorPart {
  Range input, output;
};

/// Cuts the part into P blocks as even as possible and reduces each on its way round the ring. P > 1. Blocks are those
/// of the ring's places.
RingReducedVector ring_reduce_vector(Schedule& s, const Ring& ring, const Problem& p, const VectorPart& part);
/// Does so with the whole vector.
RingReducedVector ring_reduce_vector(Schedule& s, const Ring& ring, const Problem& p);

}  // namespace antiphon
