// SPDX-License-Identifier: Apache-2.0
// Any bytes as a frame: the first chooses the instruction set; with an even one the head is made valid, so that bodies are reached.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "antiphon/codec.hpp"
#include "codecs/frame/head.hpp"

using namespace antiphon::codec;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  const Isa isa = static_cast<Isa>(1 + data[0] % 3);
  std::vector<std::byte> frame(size - 1);
  std::memcpy(frame.data(), data + 1, frame.size());
  if (data[0] >= 128) {
    const auto codec = static_cast<Id>(data[1] & 15);
    const std::size_t raw = (data[2] | std::size_t{data[3]} << 8) * (data[0] & 1 ? 1 : 9);
    const auto head = bytes_of({codec, (data[1] & 16) != 0, (data[1] & 32) != 0, 0, raw});
    frame.insert(frame.begin(), head.begin(), head.end());
  }
  const std::uint64_t bytes = raw_bytes(frame);
  if (bytes == not_a_frame || bytes > 1 << 20) {
    std::byte nothing[16];
    if (decode(frame, nothing, isa) == Error::none && bytes != 16) std::abort();
    return 0;
  }
  std::vector<std::byte> portable(bytes), other(bytes);
  const Error expected = decode(frame, portable, Isa::portable);
  if (decode(frame, other, isa) != expected) std::abort();
  if (expected == Error::none && portable != other) std::abort();
  return 0;
}
