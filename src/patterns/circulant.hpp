// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace antiphon {

/// Träff's round-optimal broadcast on circulant graphs ("(Poly)logarithmic time construction of round-optimal n-block
/// broadcast schedules for broadcast and irregular allgather in MPI", 2022; "Optimal broadcast schedules in logarithmic
/// time", arXiv 2312.11236): n blocks reach any number of places in n − 1 + ⌈log2 size⌉ rounds, in each of which a
/// place sends at most one block and receives at most one. Rounds repeat with period q = ⌈log2 size⌉: in rounds k, k +
/// q, … the places send at distance skip[k]. Each place computes its part on its own, in O(log² size).
class Circulant {
 public:
  /// What one place does in one round; −1: nothing.
  struct Round {
    int to = -1;
    int send_block = -1;
    int from = -1;
    int recv_block = -1;
  };

  Circulant(int place, int size);

  /// The rounds of a broadcast of `blocks` blocks from place 0. A place receives every block once, before it sends it.
  [[nodiscard]] std::vector<Round> rounds(int blocks) const;

 private:
  /// Which block each of the q rounds brings to a place, relative to the phase; negative ones belong to earlier phases.
  [[nodiscard]] std::vector<int> receive_blocks(int place) const;
  [[nodiscard]] int base_block(int place) const;

  int place_, size_;
  int q_ = 0;
  std::vector<int> skips_;  ///< q + 1 of them: skips_[q] = size, each half of the next, rounded up
  std::vector<int> receives_, sends_;
};

}  // namespace antiphon
