// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "contender.hpp"

namespace antiphon::codec_bench {

/// How messages reach the codec.
///  sent  the stream as it was sent, from the first message on; each round begins as new; encode and decode by turns
///  warm  messages of one size, encoded again and again with state kept: what a loop of a program comes to
///  cold  each message by itself, with nothing kept and nothing in the caches
enum class Mode { sent, warm, cold };
const char* name(Mode mode);

struct Measured {
  std::string contender;
  std::uint64_t messages = 0, raw_bytes = 0, frame_bytes = 0;
  /// Seconds of one pass over all messages (cold: of each message), and the sum of each message's least (warm: the
  /// least pass).
  std::vector<double> encode_s, decode_s;
  double encode_least_s = 0, decode_least_s = 0;
  bool wrong = false;
};

/// All contenders by turns, round after round, until `budget_s` is used up; at least three rounds.
std::vector<Measured> measure(const Stream& stream, Mode mode, const std::vector<const Contender*>& contenders,
                              double budget_s, double wire_bytes_per_s);

}  // namespace antiphon::codec_bench
