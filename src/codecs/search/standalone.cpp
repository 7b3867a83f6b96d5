// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "codecs/frame/frame.hpp"
#include "codecs/search/spec_search.hpp"

namespace antiphon::codec {

namespace {

constexpr double copy_bytes_per_s = 20e9;  // a stored frame is sent from its buffer and copied at most once

double stored_seconds(std::size_t raw_bytes, const Options& options) {
  return seconds_for({static_cast<double>(raw_bytes), copy_bytes_per_s, copy_bytes_per_s, {}}, raw_bytes,
                     options.wire_bytes_per_s);
}

/// Temporal prediction starts from a spatial encoding, so asking for it asks for that.
bool is_wanted(const Codec& codec, const Options& options) {
  const Id wanted = options.codec == Id::temporal ? Id::spatial : options.codec;
  return (wanted == Id::automatic || wanted == codec.id) &&
         (options.allowed_codecs >> static_cast<int>(codec.id) & 1) != 0 && codec.available();
}

}  // namespace

double seconds_for(const Estimate& estimate, std::size_t raw_bytes, double wire_bytes_per_s) {
  const double encode = static_cast<double>(raw_bytes) / estimate.encode_bytes_per_s;
  const double decode = static_cast<double>(raw_bytes) / estimate.decode_bytes_per_s;
  const double wire = estimate.bytes / wire_bytes_per_s;
  // The slowest of the three hides the others, except for a first and a last piece.
  return std::max({encode, decode, wire}) + 0.1 * (encode + decode + wire);
}

StandaloneEncoding choose_standalone(ConstBytes raw, const Options& options, const Kernel& kernel, Work& work) {
  StandaloneEncoding best;
  if (raw.empty()) return best;
  best.seconds = stored_seconds(raw.size(), options);
  best.bytes = static_cast<double>(raw.size());
  best.raw_bytes = raw.size();
  for (const Codec* codec : codecs()) {
    if (!is_wanted(*codec, options)) continue;
    if (codec->estimate == nullptr) {
      if (options.codec == codec->id) best.encoding = {codec->id, {}};
      continue;
    }
    const Estimate estimate = codec->estimate(raw, options, kernel, work);
    if (codec->id == Id::spatial) best.values = estimate.spec;
    const double s = estimate.bytes == 0 ? 0 : seconds_for(estimate, raw.size(), options.wire_bytes_per_s);
    if (options.codec == Id::automatic && (s == 0 || s >= best.seconds)) continue;
    best.seconds = s;
    best.bytes = estimate.bytes;
    best.encoding = {codec->id, estimate.spec};
  }
  return best;
}

void StandaloneEncoding::refresh(ConstBytes raw, const Options& options, const Kernel& kernel, Work& work) {
  if (encoding.codec != Id::spatial) return;
  const Found found = search_near(values, raw, {}, kernel, work);
  if (found.bytes == 0) return;
  values = encoding.spec = found.spec;
  bytes = found.bytes;
  raw_bytes = raw.size();
  seconds = seconds_for({found.bytes, 8e9, 8e9, {}}, raw.size(), options.wire_bytes_per_s);
  if (options.codec == Id::automatic && seconds > stored_seconds(raw.size(), options)) encoding = {};
}

}  // namespace antiphon::codec
