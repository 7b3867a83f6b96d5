// SPDX-License-Identifier: Apache-2.0
// Checks single frames: every length, codec, instruction set and kind of value decodes bit for bit, and all instruction
// sets write the same bytes.
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "antiphon/codec.hpp"

using namespace antiphon::codec;

namespace {

using Buffer = std::vector<std::byte>;

constexpr Id own_codecs[] = {Id::automatic, Id::stored, Id::spatial, Id::lz4, Id::zstd};
constexpr Isa isas[] = {Isa::portable, Isa::avx2, Isa::avx512};

/// Makes values of each kind that floating-point units or codecs might treat specially.
std::uint64_t pattern(int kind, std::size_t i, std::mt19937_64& random) {
  const auto smooth = [&](double x) {
    std::uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
  };
  switch (kind) {
    case 0: return 0;
    case 1: return random();
    case 2: return 0x7ff0000000000000ULL | (random() & 0x8007ffffffffffffULL);  // quiet and signalling NaNs, infinities
    case 3: return (random() & 1) << 63;                                        // zeros of both signs
    case 4: return random() & 0x800fffffffffffffULL;                            // denormals
    case 5: return smooth(std::sin(static_cast<double>(i) * 0.01));             // signed and smooth
    case 6: return smooth(std::floor(static_cast<double>(i) * 0.37 * 1000) / 1000);                  // decimals
    case 7: return static_cast<std::uint64_t>(i) * 3 + (random() & 3);                               // ids
    case 8: return smooth(std::sin(static_cast<double>(i / 5)) + static_cast<double>(i % 5) * 1e6);  // records of five
    case 9: return random() % 10 == 0 ? random() : 0;                                                // mostly zero
    case 10: return 0x4123456789000000ULL + (random() & 0xffff);  // above a base, in no order
    default: return ~std::uint64_t{0} << (random() % 64);
  }
}
constexpr int kinds = 12;

Buffer message(int kind, std::size_t bytes, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> words(bytes / 8 + 1);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = pattern(kind, i, random);
  Buffer result(bytes);
  if (bytes > 0) std::memcpy(result.data(), words.data(), bytes);
  return result;
}

bool usable(Id id) { return id == Id::automatic || (available_codecs() >> static_cast<int>(id) & 1) != 0; }

/// Holds a frame in the form in which it travels.
Buffer framed(ConstBytes raw, const Options& options) {
  Buffer out(bound(raw.size()));
  const Frame frame = encode(raw, options, out);
  REQUIRE(frame.bytes <= raw.size() + frame_overhead_bytes);
  REQUIRE(std::memcmp(out.data(), frame.head.data(), frame_overhead_bytes) == 0);
  if (frame.in_place && !raw.empty()) std::memcpy(out.data() + frame_overhead_bytes, raw.data(), raw.size());
  out.resize(frame.bytes);
  return out;
}

void check_round_trip(ConstBytes raw, Options options, Isa decoder) {
  const Buffer frame = framed(raw, options);
  CHECK(raw_bytes(frame) == raw.size());
  Buffer back(raw.size() + 64, std::byte{0x5a});
  CHECK(decode(frame, Bytes(back.data(), raw.size()), decoder) == Error::none);
  CHECK((raw.empty() || std::memcmp(back.data(), raw.data(), raw.size()) == 0));
  for (std::size_t i = raw.size(); i < back.size(); ++i) REQUIRE(back[i] == std::byte{0x5a});
}

}  // namespace

TEST_CASE("codec: every kind of value comes back, by every codec and instruction set, from the same bytes") {
  for (const Id id : own_codecs) {
    if (!usable(id)) continue;
    for (int kind = 0; kind < kinds; ++kind) {
      CAPTURE(std::string(name(id)));
      CAPTURE(kind);
      const Buffer raw = message(kind, 70'003, 7);
      Options options{.codec = id, .isa = Isa::portable};
      const Buffer portable = framed(raw, options);
      for (const Isa isa : isas) {
        options.isa = isa;
        CHECK(framed(raw, options) == portable);
        check_round_trip(raw, options, isa);
      }
    }
  }
}

TEST_CASE("codec: every length from 0 to 4097, at any alignment") {
  for (std::size_t bytes = 0; bytes <= 4097; bytes += bytes < 300 ? 1 : 13) {
    const Buffer raw = message(static_cast<int>(bytes % kinds), bytes + 8, static_cast<unsigned>(bytes));
    const ConstBytes shifted(raw.data() + bytes % 8, bytes);
    for (const Element element : {Element::f64, Element::f32, Element::i16, Element::i8}) {
      check_round_trip(shifted, {.element = element, .codec = Id::spatial}, isas[bytes % 3]);
    }
  }
}

TEST_CASE("codec: the last segment's planes may be longer than the number in front of them can say") {
  // Each of its blocks needs all bits of a value, and what comes before it makes the frame worth while.
  const auto full = [](std::size_t segments, std::size_t last) {
    Buffer raw(segments * 65536), noise = message(1, last, 3);
    for (std::size_t i = 7; i < last; i += 64) noise[i] |= std::byte{0x80};
    raw.insert(raw.end(), noise.begin(), noise.end());
    return raw;
  };
  for (const std::size_t shortest : {std::size_t{193}, std::size_t{65473}}) {
    for (std::size_t last = shortest; last < shortest + 63; ++last) {
      CAPTURE(last);
      for (const Element element : {Element::f64, Element::f32, Element::i64, Element::i32}) {
        check_round_trip(full(2, last), {.element = element, .codec = Id::spatial}, isas[last % 3]);
      }
      check_round_trip(full(1, last), {}, isas[last % 3]);
    }
  }
}
