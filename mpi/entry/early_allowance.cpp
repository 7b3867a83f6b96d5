// SPDX-License-Identifier: Apache-2.0
#include "entry/early_allowance.hpp"

#include <algorithm>

namespace antiphon::mpi {

OwnCommCounts own_comm_counts;

namespace {

constexpr int at_a_time = 8;
constexpr int most_rarely = 1 << 20;  // calls

bool all_may_have_more(MPI_Comm comm) {
  int most[]{own_comm_counts.taken, own_comm_counts.idle, own_comm_counts.needed_early ? 1 : 0};
  const int rc = PMPI_Allreduce(MPI_IN_PLACE, most, 3, MPI_INT, MPI_MAX, comm);
  const bool are_few = most[0] + at_a_time <= OwnCommCounts::most && most[1] < OwnCommCounts::most_idle;
  return rc == MPI_SUCCESS && are_few && most[2] != 0;
}

}  // namespace

void EarlyAllowance::grant() {
  left_ += at_a_time;
  own_comm_counts.taken += at_a_time;
}

bool EarlyAllowance::take(MPI_Comm comm) {
  if (left_ == 0 && ++calls_ >= ask_at_) {
    calls_ = 0;
    const bool granted = all_may_have_more(comm);
    ask_at_ = granted ? 1 : std::min(2 * ask_at_, most_rarely);
    if (granted) grant();
  }
  if (left_ == 0) return false;
  --left_;
  --own_comm_counts.taken;
  return true;
}

}  // namespace antiphon::mpi
