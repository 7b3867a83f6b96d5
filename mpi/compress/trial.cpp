// SPDX-License-Identifier: Apache-2.0
#include "compress/trial.hpp"

#include <algorithm>
#include <array>
#include <utility>

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
  coded_ = pays_ || calls_ + 1 >= next_;
  if (coded_) before_ = seen();
  return coded_;
}

void CodingTrial::end(MPI_Comm own, bool may_wait) {
  const bool follows = std::exchange(follows_, coded_);
  if (!std::exchange(coded_, false)) return;
  const Seen after = seen();
  if (follows) {
    since_.bytes += after.bytes - before_.bytes;
    since_.saved_bytes += after.saved_bytes - before_.saved_bytes;
    since_.codec_ns += after.codec_ns - before_.codec_ns;
  }
  if (calls_ < next_) return;
  const double wire_ns = 1e9 / framing_state.share_bytes_per_s;  // for each byte
  // Ranks that share a core code one after another while all of their wires wait.
  const double weight = std::max(margin, framing_state.ranks_on_core);
  const auto gain_ns = static_cast<std::int64_t>(wire_ns * static_cast<double>(since_.saved_bytes)) -
                       static_cast<std::int64_t>(weight * static_cast<double>(since_.codec_ns));
  // The numbers are integers, so that their sum is the same on every rank.
  std::array<std::int64_t, 2> all{static_cast<std::int64_t>(wire_ns * static_cast<double>(since_.bytes)), gain_ns};
  std::uint64_t times = 4;
  if (may_wait && PMPI_Allreduce(MPI_IN_PLACE, all.data(), 2, MPI_INT64_T, MPI_SUM, own) == MPI_SUCCESS) {
    pays_ = all[1] > all[0] / least_gain;
    // Where no message was long enough there is nothing to judge, and later calls are hardly different.
    if (all[0] == 0) times = 16;
  }
  since_ = {};
  next_ = calls_ + std::min((times - 1) * calls_, longest_pause);
}

}  // namespace antiphon::mpi
