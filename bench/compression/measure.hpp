// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "contender.hpp"

namespace antiphon::codec_bench {

/// How messages reach the codec:
///  - sent: the trace as it was sent, from its first message; each round starts anew; encoding and decoding alternate
///  - warm: messages of one size, encoded again and again with state kept, like a loop of a program
///  - cold: each message by itself, with no state and empty caches
enum class Mode { sent, warm, cold };
const char* name(Mode mode);

struct Measured {
  std::string contender;
  std::uint64_t messages = 0, raw_bytes = 0, frame_bytes = 0;
  /// Seconds of one pass over all messages (cold: of each message), and the sum of each message's minimum (warm: the
  /// fastest pass).
  std::vector<double> encode_s, decode_s;
  double encode_least_s = 0, decode_least_s = 0;
  bool wrong = false;
};

/// Measures all contenders in turn, round after round, until `budget_s` is spent, but at least three rounds.
std::vector<Measured> measure(const MessageTrace& trace, Mode mode, const std::vector<const Contender*>& contenders,
                              double budget_s, double wire_bytes_per_s);

}  // namespace antiphon::codec_bench
