// SPDX-License-Identifier: Apache-2.0
#include "compress/trial.hpp"

#include <algorithm>
#include <array>

#include "compress/cost.hpp"
#include "compress/framing.hpp"

namespace antiphon::mpi {

CodingTrial::Seen CodingTrial::seen() {
  const CollectiveCoding& c = collective_coding;
  // A frame that is passed on saves on each link that it travels, so what counts is what comes in.
  return {c.decoded_bytes, c.decoded_bytes - c.decoded_frame_bytes, c.encode_ns + c.decode_ns};
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
  since_.bytes += after.bytes - before_.bytes;
  since_.saved_bytes += after.saved_bytes - before_.saved_bytes;
  since_.codec_ns += after.codec_ns - before_.codec_ns;
  if (calls_ < next_) return;
  const double wire_ns =
      1e9 / framing_state.share_bytes_per_s;  // for each byte; the first calls, with all plans, are judged by it
  // Ranks that share a core code one after another while all of their wires wait.
  const double weight = std::max(margin, framing_state.ranks_on_core);
  const auto gain_ns = static_cast<std::int64_t>(wire_ns * static_cast<double>(since_.saved_bytes)) -
                       static_cast<std::int64_t>(weight * static_cast<double>(since_.codec_ns));
  // The numbers are integers, so that their sum is the same on every rank.
  std::array<std::int64_t, 2> all{static_cast<std::int64_t>(wire_ns * static_cast<double>(since_.bytes)), gain_ns};
  if (may_wait && PMPI_Allreduce(MPI_IN_PLACE, all.data(), 2, MPI_INT64_T, MPI_SUM, own) == MPI_SUCCESS) {
    pays_ = all[1] > all[0] / least_gain;
  }
  since_ = {};
  next_ = calls_ + std::min(3 * calls_, longest_pause);
}

}  // namespace antiphon::mpi
