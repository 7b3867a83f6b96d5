// SPDX-License-Identifier: Apache-2.0
// Replays the fuzzers' corpora of frames: unchanged, truncated, and with bytes changed, on every instruction set.
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "../fuzz/codec_target.hpp"
#include "../fuzz/dfcm_target.hpp"
#include "antiphon/codec.hpp"
#include "replay_corpus.hpp"

using namespace antiphon::codec;

namespace {

void check_alike(const std::vector<std::byte>& frame) {
  const std::uint64_t bytes = raw_bytes(frame);
  std::vector<std::byte> first(bytes <= 1 << 20 ? bytes : 16), other(first.size());
  const Error expected = decode(frame, first, Isa::portable);
  for (const Isa isa : {Isa::avx2, Isa::avx512}) {
    CHECK(decode(frame, other, isa) == expected);
    if (expected == Error::none) CHECK(first == other);
  }
}

/// Replays the inputs that libFuzzer kept, unchanged and with a few changes (tests/fuzz/pack.py).
void replay_packed(const char* name, bool (*holds)(std::span<const std::uint8_t>)) {
  std::mt19937 random(1);
  const int inputs = for_each_packed(name, [&](std::string text) {
    const std::span<std::uint8_t> input(reinterpret_cast<std::uint8_t*>(text.data()), text.size());
    CHECK(holds(input));
    for (int i = 0; i < 2 && !input.empty(); ++i) {
      input[random() % input.size()] = static_cast<std::uint8_t>(random());
      CHECK(holds(input));
    }
  });
  CHECK(inputs > 30);
}

}  // namespace

TEST_CASE("codec: what the fuzzers found worth keeping") {
  replay_packed("codec_frame", antiphon::fuzz::codec_frame);
  replay_packed("codec_link", antiphon::fuzz::codec_link);
  replay_packed("dfcm", antiphon::fuzz::dfcm);
}

TEST_CASE("codec: the corpus of frames") {
  const auto corpus = fuzz_folder() / "corpus" / "codec_frame";
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    ++files;
    CAPTURE(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<char> text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    REQUIRE(text.size() > 1);
    const auto* begin = reinterpret_cast<const std::byte*>(text.data()) + 1;  // the first byte is for the fuzzer
    const std::vector<std::byte> frame(begin, begin + text.size() - 1);
    check_alike(frame);
    for (std::size_t length = 0; length < frame.size(); length += 1 + frame.size() / 40)
      check_alike({begin, begin + length});
    std::mt19937 random(1);
    for (int i = 0; i < 300; ++i) {
      std::vector<std::byte> changed = frame;
      // The head has a checksum, so most changes leave it alone.
      const std::size_t first = i % 8 == 0 || frame.size() < 10 ? 0 : 8;
      for (int k = 0; k <= i % 3; ++k)
        changed[first + random() % (changed.size() - first)] = static_cast<std::byte>(random());
      check_alike(changed);
    }
  }
  CHECK(files > 10);
}
