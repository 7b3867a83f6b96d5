// SPDX-License-Identifier: Apache-2.0
// Puts the clocks of all nodes on one scale, so that times of different ranks can be compared.
#pragma once

#include <mpi.h>

namespace antiphon::mpi {

/// Says how far this rank's clock (now_s) is from rank 0's.
struct ClockReading {
  double local_s = 0;   ///< when this was found out, by this rank's clock
  double offset_s = 0;  ///< to add to this rank's clock
  double error_s = 0;   ///< the offset is right to this much; 0 for ranks that have rank 0's clock itself
};

/// Compares the clocks of all ranks by the shortest of several round trips, along a tree of the nodes. Collective over
/// `comm`, which has rank 0's clock and no messages of others.
ClockReading read_clocks(MPI_Comm comm);

/// Converts this rank's times to rank 0's clock. Clocks of two nodes run at different rates, so there are two readings,
/// one at either end of the run, and between them the offset changes evenly.
class ClockScale {
 public:
  ClockScale(const ClockReading& first, const ClockReading& last);
  [[nodiscard]] double common_s(double local_s) const {
    return local_s + first_.offset_s + drift_ * (local_s - first_.local_s);
  }

 private:
  ClockReading first_;
  double drift_ = 0;
};

}  // namespace antiphon::mpi
