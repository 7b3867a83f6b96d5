// SPDX-License-Identifier: Apache-2.0
// Compares DFCM with a bit-by-bit transcription of the paper's sections 2.2 and 2.3, and checks round trips.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "../../src/codecs/predict/dfcm_predictor.hpp"
#include "../fuzz/dfcm_target.hpp"

using antiphon::codec::DfcmPredictor;
using Octets = std::vector<std::uint8_t>;

namespace {

template <typename T>
Octets octets_of(const std::vector<T>& values) {
  Octets bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Octets encoded(DfcmPredictor& predictor, const Octets& raw) {
  Octets out(DfcmPredictor::bound(raw.size()));
  out.resize(predictor.encode(raw, out.data()));
  return out;
}

Octets decoded(DfcmPredictor& predictor, const Octets& body, std::size_t raw_bytes, bool& right) {
  Octets raw(raw_bytes, 0xee);
  right = predictor.decode(body, raw);
  return raw;
}

/// The paper's algorithm word by word: three separate differences, a table of pairs, one bit at a time.
class Plain {
 public:
  std::vector<bool> encode(const std::vector<double>& values) {
    std::vector<bool> bits;
    for (const double d : values) {
      const auto value = std::bit_cast<std::uint64_t>(d);
      const std::size_t index = ((top(delta_[2])) ^ (top(delta_[1]) << 5) ^ (top(delta_[0]) << 10)) & 0x7fff;
      auto& [recent, second] = table_[index];
      std::uint64_t step = recent;
      if (top(recent) == top(second)) step = recent + (recent - second);
      const std::uint64_t difference = value ^ (last_ + step);
      unsigned count = 0;
      while (count < 15 && (difference >> (60 - 4 * count)) == 0) ++count;
      for (int b = 0; b < 4; ++b) bits.push_back(count >> b & 1);
      for (unsigned b = 0; b < 64 - 4 * count; ++b) bits.push_back(difference >> b & 1);
      second = recent;
      recent = value - last_;
      delta_[0] = delta_[1], delta_[1] = delta_[2], delta_[2] = recent;
      last_ = value;
    }
    return bits;
  }

 private:
  static std::uint64_t top(std::uint64_t x) { return x >> 50; }
  std::uint64_t last_ = 0, delta_[3] = {0, 0, 0};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> table_{32768};
};

std::vector<std::vector<double>> streams() {
  std::mt19937_64 random(3);
  std::vector<std::vector<double>> all(5);
  for (int i = 0; i < 3000; ++i) {
    all[0].push_back(std::sin(i * 0.01));
    all[1].push_back(std::bit_cast<double>(random()));
    all[2].push_back(i % 7 == 0 ? 1.5 : 1.5 + 1e-9 * (i % 5));
    all[3].push_back(i * 0.001);
    all[4].push_back(0);
  }
  const double odd[] = {std::numeric_limits<double>::quiet_NaN(),
                        std::numeric_limits<double>::signaling_NaN(),
                        -0.0,
                        std::numeric_limits<double>::denorm_min(),
                        std::numeric_limits<double>::infinity(),
                        -std::numeric_limits<double>::infinity(),
                        std::bit_cast<double>(0xfff4dead0000beefULL)};
  for (int i = 0; i < 500; ++i) all[2].push_back(odd[random() % std::size(odd)]);
  return all;
}

}  // namespace

TEST_CASE("dfcm: bit for bit what the paper describes, over several messages") {
  for (const auto& stream : streams()) {
    Plain plain;
    DfcmPredictor predictor;
    for (int message = 0; message < 3; ++message) {
      const std::vector<bool> expected = plain.encode(stream);
      const Octets found = encoded(predictor, octets_of(stream));
      REQUIRE(found.size() == (expected.size() + 7) / 8);
      bool same = true;
      for (std::size_t b = 0; b < expected.size(); ++b) same = same && (found[b / 8] >> (b % 8) & 1) == expected[b];
      CHECK(same);
    }
  }
}

TEST_CASE("dfcm: both ends stay in step from message to message") {
  for (const auto& stream : streams()) {
    DfcmPredictor sender, receiver;
    const Octets raw = octets_of(stream);
    for (const std::size_t bytes :
         {raw.size(), std::size_t{1024}, std::size_t{1031}, raw.size() - 8, std::size_t{0}, std::size_t{5}}) {
      const Octets message(raw.begin(), raw.begin() + static_cast<std::ptrdiff_t>(bytes));
      bool right = false;
      CHECK(decoded(receiver, encoded(sender, message), bytes, right) == message);
      CHECK(right);
    }
  }
}

TEST_CASE("dfcm: every length") {
  const Octets raw = octets_of(streams()[1]);
  for (std::size_t bytes = 0; bytes <= 600; ++bytes) {
    DfcmPredictor& sender = antiphon::fuzz::fresh_dfcm(0);
    const Octets message(raw.begin() + 3,
                         raw.begin() + 3 + static_cast<std::ptrdiff_t>(bytes));  // includes misaligned values
    const Octets body = encoded(sender, message);
    CHECK(body.size() <= DfcmPredictor::bound(bytes));
    bool right = false;
    CHECK(decoded(antiphon::fuzz::fresh_dfcm(1), body, bytes, right) == message);
    CHECK(right);
  }
}

TEST_CASE("dfcm: rates that follow from the format") {
  DfcmPredictor predictor;
  const Octets zeros(80000);
  CHECK(encoded(predictor, zeros).size() == zeros.size() / 8);  // 4 bits of count and 4 of value: 8:1 at most
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> noise(10000);
  for (auto& value : noise) value = random();
  const double rate = 80000.0 / static_cast<double>(encoded(predictor, octets_of(noise)).size());
  CHECK(rate > 0.94);  // 68 bits for 64
  CHECK(rate < 0.95);
}

TEST_CASE("dfcm: damaged bodies end in an answer") {
  const Octets raw = octets_of(streams()[2]);
  DfcmPredictor sender;
  const Octets body = encoded(sender, raw);
  bool right = true;
  for (std::size_t bytes = 0; bytes < body.size(); bytes += 1 + body.size() / 60) {
    decoded(antiphon::fuzz::fresh_dfcm(1), Octets(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(bytes)),
            raw.size(), right);
    CHECK_FALSE(right);
  }
  Octets longer = body;
  longer.push_back(0);
  decoded(antiphon::fuzz::fresh_dfcm(1), longer, raw.size(), right);
  CHECK_FALSE(right);
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    Octets changed(body.begin(), body.begin() + 200);
    for (int k = 0; k < 3; ++k) changed[random() % changed.size()] = static_cast<std::uint8_t>(random());
    CHECK(antiphon::fuzz::dfcm(changed));
  }
}
