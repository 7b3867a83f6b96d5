// SPDX-License-Identifier: Apache-2.0
#include "compress/trial.hpp"

#include <algorithm>
#include <array>

namespace antiphon::mpi {

namespace {

std::int64_t on_wire_ns(std::int64_t bytes) {
  return static_cast<std::int64_t>(1e9 * static_cast<double>(bytes) / framing_state.share_bytes_per_s);
}

}  // namespace

CodingTrial::Seen CodingTrial::seen() {
  const CollectiveCoding& c = collective_coding;
  return {on_wire_ns(c.bytes), on_wire_ns(c.bytes - c.frame_bytes) - margin * (c.encode_ns + c.decode_ns)};
}

bool CodingTrial::begin() {
  ++calls_;
  coded_ = pays_ || calls_ >= next_;
  if (coded_) before_ = seen();
  return coded_;
}

void CodingTrial::end(MPI_Comm own, bool may_wait) {
  if (!coded_) return;
  coded_ = false;
  const Seen after = seen();
  since_.wire_ns += after.wire_ns - before_.wire_ns;
  since_.gain_ns += after.gain_ns - before_.gain_ns;
  if (calls_ < next_) return;
  // Whole numbers: their sum is the same on every rank.
  std::array<std::int64_t, 2> all{since_.wire_ns, since_.gain_ns};
  if (may_wait && PMPI_Allreduce(MPI_IN_PLACE, all.data(), 2, MPI_INT64_T, MPI_SUM, own) == MPI_SUCCESS) {
    pays_ = all[1] > all[0] / least_gain;
  }
  since_ = {};
  next_ = calls_ + std::min(3 * calls_, longest_pause);
}

}  // namespace antiphon::mpi
