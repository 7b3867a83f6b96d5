// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "antiphon/problem.hpp"
#include "antiphon/schedule.hpp"
#include "patterns/lane.hpp"

namespace antiphon {

/// Consecutive ranks' blocks.
struct BlockRun {
  int first = 0;
  int count = 0;
};

/// `count` of the ring of n blocks that begins at block `base`, from position `start` on: one run, or two where it
/// wraps round.
std::vector<BlockRun> ring_runs(int base, int n, int start, int count);

/// The blocks of an allgather(v) one after the other in rank order, so that a run of blocks is one message: the output
/// itself where it has this layout, else scratch, from which blocks are copied to their places as they come. Each rank
/// decides this for itself, since messages are the same either way.
class GatheredBlocks {
 public:
  GatheredBlocks(Schedule& s, const Problem& p, const Cut& cut);

  /// The operation that puts this rank's own block in place.
  [[nodiscard]] OpId own() const { return own_; }
  [[nodiscard]] Range range(const BlockRun& run) const;

  /// One message per run that is not empty, one after the other; its tag is `tag` plus the run's place in the list.
  std::vector<OpId> recv(int from, const std::vector<BlockRun>& runs, int tag, OpId post_after = no_op);
  /// Sends after all of `have`, one after the other, in lock-step with the messages of the recv() before.
  void send(int to, const std::vector<BlockRun>& runs, const std::vector<OpId>& have, int tag);

 private:
  Schedule& s_;
  const Problem& p_;
  Cut cut_;
  Lane received_;
  OpId own_ = no_op;
  bool direct_ = true;  ///< the output is laid out in rank order without gaps
  Range packed_;
  std::vector<std::int64_t> offsets_;
};

}  // namespace antiphon
