// SPDX-License-Identifier: Apache-2.0
// A stream of frames for one Decoder: some real ones of an Encoder, some of them changed, cut, repeated, swapped or skipped.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "antiphon/codec.hpp"
#include "codecs/frame/head.hpp"

using namespace antiphon::codec;

namespace {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ >= size_; }
  std::uint8_t byte() { return empty() ? 0 : data_[at_++]; }

 private:
  const std::uint8_t* data_;
  std::size_t size_, at_ = 0;
};

/// Messages that build on each other, with what the input wants in between.
std::vector<std::byte> message(std::size_t bytes, std::uint8_t step, Input& input) {
  std::vector<std::byte> result(bytes);
  for (std::size_t i = 0; i < bytes; ++i) result[i] = static_cast<std::byte>((i / 8 * (i % 8 == 0)) + (i % 8 == 1) * step);
  for (std::uint8_t n = input.byte() % 4; n > 0; --n) result[input.byte() % bytes] = static_cast<std::byte>(input.byte());
  return result;
}

/// Any bytes with a valid head.
std::vector<std::byte> invented(Input& input, std::size_t bytes) {
  const std::uint8_t kind = input.byte();
  const auto head = bytes_of({static_cast<Id>(kind & 7), true, (kind & 8) != 0, input.byte(), bytes});
  std::vector<std::byte> frame(head.begin(), head.end());
  for (std::uint8_t n = input.byte(); n > 0; --n) frame.push_back(static_cast<std::byte>(input.byte()));
  return frame;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
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
    if (honest.decode(frame, back) != Error::none || back != raw) std::abort();
    if (what & 16) frame[input.byte() % frame.size()] = static_cast<std::byte>(input.byte());
    if (what & 32) frame.resize(input.byte() % (frame.size() + 1));
    if (what & 64) frame = invented(input, bytes);
    (void)attacked.decode(frame, back);
    if (what & 128) attacked.skip(frame);
  }
  return 0;
}
