// SPDX-License-Identifier: Apache-2.0
// When each rank came to a call and left it: from that, MPI_Finalize tells waiting for other ranks from moving data.
//
// A rank keeps the times of a bounded number of calls. Which ones is decided by a hash of the call, so that all ranks
// keep the same ones without a word; the more calls there are, the smaller the kept part.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "observe/clocks.hpp"

namespace antiphon::mpi {

/// Names one call of one communicator: equal on all its ranks, and random otherwise.
using CallName = std::uint64_t;

/// Returns a name for a communicator that all its ranks give it, as long as they use communicators of the same ranks
/// for the first time in the same order.
std::uint64_t communicator_name(MPI_Comm comm);
/// Returns the name of the call of that number and kind.
CallName call_name(std::uint64_t communicator, std::uint64_t number, int kind);

/// Holds the times of calls of one sort.
class Arrivals {
 public:
  struct Call {
    CallName name;
    double began_s;
    double ended_s;
    std::int64_t ranks;  ///< of the communicator
  };
  void add(const Call& call);
  [[nodiscard]] const std::vector<Call>& kept() const { return kept_; }

 private:
  [[nodiscard]] bool keeps(CallName name) const { return level_ == 0 || name >> (64 - level_) == 0; }

  std::vector<Call> kept_;
  int level_ = 0;  ///< calls are kept if so many leading bits of their names are zero
};

/// Says what became of the time in the calls of one Arrivals that all their ranks have kept.
struct Waited {
  std::int64_t calls = 0;
  double time_s = 0;
  double waiting_s = 0;  ///< until the last rank came to the call
};
/// Compares the arrivals of all ranks; collective over `comm`, whose ranks may have different numbers of sorts.
std::vector<Waited> compare_arrivals(const std::vector<const Arrivals*>& sorts, const ClockScale& clock, MPI_Comm comm);

}  // namespace antiphon::mpi
