// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "../../src/codecs/predict/dfcm_predictor.hpp"

namespace antiphon::fuzz {

/// Returns a predictor in its initial state. Making one each time would be most of the fuzzer's work.
inline codec::DfcmPredictor& fresh_dfcm(int which) {
  static codec::DfcmPredictor predictors[2];
  predictors[which].reset();
  return predictors[which];
}

/// Decodes any bytes: the first two give the length of the message, the rest is its body. What decodes is encoded as
/// the same body again, and the bytes as a message survive the round trip.
inline bool dfcm(std::span<const std::uint8_t> data) {
  if (data.size() < 2) return true;
  const std::size_t raw_bytes = (data[0] | data[1] << 8) % 5000;
  const auto body = data.subspan(2);
  std::vector<std::uint8_t> raw(raw_bytes), again(codec::DfcmPredictor::bound(std::max(raw_bytes, body.size())));
  if (fresh_dfcm(0).decode(body, raw)) {
    // A count of zeros may be smaller than necessary, and then the body is longer than the encoder's.
    if (fresh_dfcm(1).encode(raw, again.data()) > body.size()) return false;
  }
  const std::size_t bytes = fresh_dfcm(0).encode(body, again.data());
  std::vector<std::uint8_t> back(body.size());
  return fresh_dfcm(1).decode({again.data(), bytes}, back) && std::equal(back.begin(), back.end(), body.begin());
}

}  // namespace antiphon::fuzz
