// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "../../src/codecs/frame/head.hpp"
#include "antiphon/codec.hpp"

namespace antiphon::fuzz {

/// Decodes any bytes as a frame. The first byte chooses the instruction set; from 128 on the head is made valid, so
/// that bodies are reached. All instruction sets must give the same result.
inline bool codec_frame(std::span<const std::uint8_t> data) {
  using namespace codec;
  if (data.size() < 4) return true;
  const Isa isa = static_cast<Isa>(1 + data[0] % 3);
  std::vector<std::byte> frame(data.size() - 1);
  std::memcpy(frame.data(), data.data() + 1, frame.size());
  if (data[0] >= 128) {
    const auto codec = static_cast<Id>(data[1] & 15);
    const std::size_t raw = (data[2] | std::size_t{data[3]} << 8) * (data[0] & 1 ? 1 : 9);
    const auto head = bytes_of({codec, (data[1] & 16) != 0, (data[1] & 32) != 0, 0, raw});
    frame.insert(frame.begin(), head.begin(), head.end());
  }
  const std::uint64_t bytes = raw_bytes(frame);
  if (bytes == not_a_frame || bytes > 1 << 20) {
    std::byte nothing[16];
    return decode(frame, nothing, isa) != Error::none || bytes == 16;
  }
  std::vector<std::byte> portable(bytes), other(bytes);
  const Error expected = decode(frame, portable, Isa::portable);
  return decode(frame, other, isa) == expected && (expected != Error::none || portable == other);
}

/// Reads the fuzzer's input byte by byte.
class Input {
 public:
  explicit Input(std::span<const std::uint8_t> data) : data_(data) {}
  bool empty() const { return at_ >= data_.size(); }
  std::uint8_t byte() { return empty() ? 0 : data_[at_++]; }

 private:
  std::span<const std::uint8_t> data_;
  std::size_t at_ = 0;
};

/// Makes messages that build on each other, with changes that the input chooses.
inline std::vector<std::byte> message(std::size_t bytes, std::uint8_t step, Input& input) {
  std::vector<std::byte> result(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    result[i] = static_cast<std::byte>((i / 8 * (i % 8 == 0)) + (i % 8 == 1) * step);
  for (std::uint8_t n = input.byte() % 4; n > 0; --n)
    result[input.byte() % bytes] = static_cast<std::byte>(input.byte());
  return result;
}

/// Makes any bytes with a valid head.
inline std::vector<std::byte> invented(Input& input, std::size_t bytes) {
  const std::uint8_t kind = input.byte();
  const auto head = codec::bytes_of({static_cast<codec::Id>(kind & 7), true, (kind & 8) != 0, input.byte(), bytes});
  std::vector<std::byte> frame(head.begin(), head.end());
  for (std::uint8_t n = input.byte(); n > 0; --n) frame.push_back(static_cast<std::byte>(input.byte()));
  return frame;
}

/// Feeds frames to one Decoder: real ones of an Encoder, some of them changed, cut, repeated, swapped or skipped. A
/// second Decoder, which sees the unchanged frames, must decode them all.
inline bool codec_link(std::span<const std::uint8_t> data) {
  using namespace codec;
  Input input(data);
  LinkOptions options;
  options.history_bytes = 8 << 10;
  Encoder encoder(options);
  Decoder honest(Isa::portable), attacked(static_cast<Isa>(1 + input.byte() % 3));
  for (std::uint8_t step = 0; !input.empty() && step < 60; ++step) {
    const std::uint8_t what = input.byte();
    const std::size_t bytes = 64 + 8 * (what % 16);
    const std::vector<std::byte> raw = message(bytes, step, input);
    std::vector<std::byte> frame(bound(bytes)), back(bytes);
    const Frame sent = encoder.encode({what & 3, bytes, 0}, raw, frame);
    if (sent.in_place) std::memcpy(frame.data() + 8, raw.data(), bytes);
    frame.resize(sent.bytes);
    if (honest.decode(frame, back) != Error::none || back != raw) return false;
    if (what & 16) frame[input.byte() % frame.size()] = static_cast<std::byte>(input.byte());
    if (what & 32) frame.resize(input.byte() % (frame.size() + 1));
    if (what & 64) frame = invented(input, bytes);
    (void)attacked.decode(frame, back);
    if (what & 128) attacked.skip(frame);
  }
  return true;
}

}  // namespace antiphon::fuzz
