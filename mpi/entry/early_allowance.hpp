// SPDX-License-Identifier: Apache-2.0
// Says which constructor calls of the program make an own communicator, too (early_comms.hpp). A program that makes
// thousands and needs few of these should not pay for each, and the library has only so many.
#pragma once

#include <mpi.h>

#include <atomic>

namespace antiphon::mpi {

/// Counts this process's own communicators.
struct OwnCommCounts {
  /// An eighth of what the library can make; the rest is the program's.
#if defined(ANTIPHON_ABI_OPENMPI)
  static constexpr int most = 8192;
#else
  static constexpr int most = 256;
#endif
  /// So many more than half of those that were made early may be without use.
  static constexpr int most_idle = 32;

  std::atomic<int> taken{0};  ///< that exist, or are granted
  std::atomic<int> idle{0};   ///< that were made early and are not used, less those that are
  /// A call has come that can use one only if it was made early.
  std::atomic<bool> needed_early{false};
};
extern OwnCommCounts own_comm_counts;

/// Belongs to one communicator of the program. All that it says is the same on each of its ranks.
class EarlyAllowance {
 public:
  ~EarlyAllowance() { own_comm_counts.taken -= left_; }
  /// Grants the next few constructor calls on the communicator an own one each. More are granted once some rank has
  /// needed one.
  void grant();
  /// Counts a constructor call on the communicator, and tells whether an own one is granted. It may ask the other
  /// ranks, each time they refuse after twice as many calls. Collective over `comm`.
  bool take(MPI_Comm comm);

 private:
  int left_ = 0;
  int calls_ = 0;  ///< since ranks asked each other
  int ask_at_ = 1;
};

}  // namespace antiphon::mpi
