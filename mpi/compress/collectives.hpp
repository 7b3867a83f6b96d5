// SPDX-License-Identifier: Apache-2.0
// Compression of collectives: schedules whose messages are encoded, where it pays; and what that did.
#pragma once

#include <atomic>
#include <cstdint>

#include "antiphon/codec.hpp"
#include "antiphon/select.hpp"
#include "compress/cost.hpp"
#include "compress/framing.hpp"

namespace antiphon::mpi {

/// What the encode and decode operations of this rank's schedules did.
struct CollectiveCoding {
  std::atomic<std::int64_t> pieces{0};
  std::atomic<std::int64_t> encoded{0};  ///< pieces that became shorter
  std::atomic<std::int64_t> bytes{0};
  std::atomic<std::int64_t> frame_bytes{0};
  std::atomic<std::int64_t> encode_ns{0};
  std::atomic<std::int64_t> decode_ns{0};
};
inline CollectiveCoding collective_coding;

/// What the encode operations of schedules go by.
struct CodingTerms {
  std::uint32_t codecs = codec::built_in_codecs;  ///< that all ranks have
  double (*wire_bytes_per_s)() = nullptr;         ///< what a rank's wire carries now; null: unknown
};
inline CodingTerms coding_terms() {
  CodingTerms terms{.codecs = framing_state.codecs};
  if (framing_state.share_bytes_per_s > 0) terms.wire_bytes_per_s = [] { return worth_bytes_per_s(); };
  return terms;
}

inline bool encodes(const Choice& choice) {
  return !choice.parameters.empty() && choice.parameters.back().name == encode_parameter;
}

/// Above this share of a link coding takes longer than it saves: at a rate of 1.25, the usual one of doubles, and 4
/// GB/s each way (docs/concepts/compression.md). Both sides of a schedule must decide alike, so there is no trying as
/// with messages.
inline constexpr double most_share_bytes_per_s = 400e6;

/// The same choice with its messages encoded, if compression is on and can pay between these nodes.
inline void encode_messages(Choice& choice, int nodes) {
  if (!framing_state.compresses || choice.algorithm == nullptr || choice.algorithm->collective == Collective::barrier ||
      encodes(choice))
    return;
  const bool pays =
      nodes > 1 && framing_state.share_bytes_per_s > 0 && framing_state.share_bytes_per_s <= most_share_bytes_per_s;
  if (!pays && !framing_state.always) return;
  choice.parameters.push_back({std::string(encode_parameter), framing_state.threshold_bytes});
}

}  // namespace antiphon::mpi
