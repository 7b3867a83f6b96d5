// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "antiphon_codec.h"

/// antiphon_codec.h for C++20, with buffers, exceptions, and objects that free themselves. It is header-only, so that
/// programs of any compiler can use the library in a wheel.
namespace antiphon_codec {

using ConstBytes = std::span<const std::byte>;
using Bytes = std::span<std::byte>;

/// Thrown if something cannot be encoded or decoded; carries the error of the C interface.
class Error : public std::runtime_error {
 public:
  explicit Error(int code) : std::runtime_error(antiphon_codec_error(code)), code_(code) {}
  [[nodiscard]] int code() const { return code_; }

 private:
  int code_;
};

inline void check(int code) {
  if (code != ANTIPHON_CODEC_OK) throw Error(code);
}

/// Options that start with the defaults.
struct Options : antiphon_codec_options {
  Options() { antiphon_codec_options_init(this); }
};

/// Views a message of any values as bytes.
template <class T>
ConstBytes bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

/// Encodes a single frame.
inline std::vector<std::byte> encode(ConstBytes raw, const Options& options = {}) {
  std::vector<std::byte> frame(antiphon_codec_bound(raw.size()));
  std::size_t bytes = 0;
  check(antiphon_codec_encode(raw.data(), raw.size(), &options, frame.data(), frame.size(), &bytes, nullptr));
  frame.resize(bytes);
  return frame;
}

/// Returns the length of a frame's message.
inline std::size_t raw_bytes(ConstBytes frame) {
  const std::uint64_t bytes = antiphon_codec_raw_bytes(frame.data(), frame.size());
  if (bytes == ANTIPHON_CODEC_NOT_A_FRAME) throw Error(ANTIPHON_CODEC_DAMAGED);
  return bytes;
}

/// `out` must have raw_bytes(frame) bytes.
inline void decode(ConstBytes frame, Bytes out) {
  check(antiphon_codec_decode(frame.data(), frame.size(), out.data(), out.size(), ANTIPHON_ISA_BEST));
}

/// The sending end of a link: it predicts messages from earlier ones of the same tag and length. Not thread-safe.
class Encoder {
 public:
  explicit Encoder(const Options& options = {}) : encoder_(antiphon_codec_encoder_new(&options)) {
    if (!encoder_) throw Error(ANTIPHON_CODEC_NO_MEMORY);
  }
  std::vector<std::byte> encode(ConstBytes raw, std::int64_t tag = 0, std::int32_t element = ANTIPHON_ELEMENT_UNKNOWN) {
    std::vector<std::byte> frame(antiphon_codec_bound(raw.size()));
    std::size_t bytes = 0;
    check(antiphon_codec_encoder_encode(encoder_.get(), tag, raw.size(), 0, element, raw.data(), raw.size(),
                                        frame.data(), frame.size(), &bytes, nullptr));
    frame.resize(bytes);
    return frame;
  }
  [[nodiscard]] antiphon_codec_statistics statistics() const {
    antiphon_codec_statistics result{};
    antiphon_codec_encoder_statistics(encoder_.get(), &result);
    return result;
  }

 private:
  struct Free {
    void operator()(antiphon_codec_encoder* encoder) const { antiphon_codec_encoder_free(encoder); }
  };
  std::unique_ptr<antiphon_codec_encoder, Free> encoder_;
};

/// The receiving end: frames of one tag and length must be decoded in the order in which they were encoded.
class Decoder {
 public:
  Decoder() : decoder_(antiphon_codec_decoder_new(ANTIPHON_ISA_BEST)) {
    if (!decoder_) throw Error(ANTIPHON_CODEC_NO_MEMORY);
  }
  void decode(ConstBytes frame, Bytes out) {
    check(antiphon_codec_decoder_decode(decoder_.get(), frame.data(), frame.size(), out.data(), out.size()));
  }

 private:
  struct Free {
    void operator()(antiphon_codec_decoder* decoder) const { antiphon_codec_decoder_free(decoder); }
  };
  std::unique_ptr<antiphon_codec_decoder, Free> decoder_;
};

}  // namespace antiphon_codec
