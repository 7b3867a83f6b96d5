// SPDX-License-Identifier: Apache-2.0
// Schedules encode the messages of collectives, if that pays; this file also counts the effect.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "antiphon/codec.hpp"
#include "antiphon/select.hpp"
#include "compress/cost.hpp"
#include "compress/damage.hpp"
#include "compress/framing.hpp"

namespace antiphon::mpi {

/// Counts what the encode and decode operations of this rank's schedules do.
struct CollectiveCoding {
  std::atomic<std::int64_t> pieces{0};
  std::atomic<std::int64_t> encoded{0};  ///< pieces that become shorter
  std::atomic<std::int64_t> bytes{0};
  std::atomic<std::int64_t> frame_bytes{0};
  std::atomic<std::int64_t> encode_ns{0};
  std::atomic<std::int64_t> decode_ns{0};
  std::atomic<std::int64_t> decoded_bytes{0};
  std::atomic<std::int64_t> decoded_frame_bytes{0};
};
inline CollectiveCoding collective_coding;

/// Holds what the encode operations of schedules depend on.
struct CodingTerms {
  std::uint32_t codecs = codec::built_in_codecs;  ///< codecs that all ranks have
  double (*wire_bytes_per_s)() = nullptr;         ///< what a rank's wire carries now; null: unknown
  /// Frames are stored where encoding does not pay, as each rank finds out by itself: ranks cannot agree.
  bool judges_alone = false;
  void (*damage_for_test)(std::span<std::byte> frame) = nullptr;  ///< null: nothing is damaged
  /// Reports a damaged frame (damaged_frame()); null: the call fails without a text.
  int (*report_damage)(MPI_Comm comm, const std::string& channel, codec::Error error) = nullptr;
};
inline CodingTerms coding_terms(bool judges_alone = false) {
  CodingTerms terms{.codecs = framing_state.codecs};
  terms.judges_alone = judges_alone && !framing_state.always;
  terms.damage_for_test = damage_for_test;
  terms.report_damage = damaged_frame;
  if (framing_state.share_bytes_per_s > 0) terms.wire_bytes_per_s = [] { return worth_bytes_per_s(); };
  return terms;
}

inline bool encodes(const Choice& choice) {
  return !choice.parameters.empty() && choice.parameters.back().name == encode_parameter;
}

/// Tells whether encoding collectives can pay on such a share of a link. Above 400 MB/s coding takes longer than it
/// saves, at the usual rate of doubles, 1.25, and 4 GB/s each way (docs/concepts/compression.md); where codecs are
/// slower than usual, the bound is lower. Both sides of a schedule must decide alike, so it cannot be tried as for
/// messages.
inline bool collectives_can_pay(double share_bytes_per_s) {
  constexpr double most_bytes_per_s = 400e6;
  const double slower = framing_state.speed.both_ns_per_byte() / usual_codec_speed.both_ns_per_byte();
  return share_bytes_per_s > 0 && share_bytes_per_s * std::max(1.0, slower) <= most_bytes_per_s;
}

/// Tells whether frames cost next to nothing even where nothing becomes shorter: on a slow wire two copies of each byte
/// take less than a fiftieth of its time.
inline bool frames_are_cheap() {
  constexpr double most_bytes_per_s = 40e6;
  return framing_state.always || framing_state.share_bytes_per_s <= most_bytes_per_s;
}

/// Makes the choice encode its messages, if compression is on and can pay between these nodes.
inline void encode_messages(Choice& choice, int nodes) {
  if (!framing_state.compresses || choice.algorithm == nullptr || choice.algorithm->collective == Collective::barrier ||
      encodes(choice))
    return;
  const bool pays = nodes > 1 && collectives_can_pay(framing_state.share_bytes_per_s);
  if (!pays && !framing_state.always) return;
  choice.parameters.push_back({std::string(encode_parameter), framing_state.least_bytes});
}

}  // namespace antiphon::mpi
