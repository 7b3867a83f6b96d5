// SPDX-License-Identifier: Apache-2.0
// Compares DFCM with a bit-by-bit transcription of the paper's sections 2.2 and 2.3, and checks round trips.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include "antiphon/codec.hpp"

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

namespace codec = antiphon::codec;

/// Both ends of a link that uses nothing but DFCM.
class Link {
 public:
  explicit Link(std::size_t history_bytes) : encoder_(options(history_bytes)) {}

  Octets encode(std::int64_t tag, const Octets& raw) {
    Octets frame(codec::bound(raw.size()));
    const codec::Frame made =
        encoder_.encode({tag, raw.size(), 0}, std::as_bytes(std::span(raw)), std::as_writable_bytes(std::span(frame)));
    last_codec = made.codec;
    frame.resize(made.bytes);
    return frame;
  }
  codec::Error decode(const Octets& frame, Octets& raw) {
    return decoder_.decode(std::as_bytes(std::span(frame)), std::as_writable_bytes(std::span(raw)));
  }
  bool carries(std::int64_t tag, const Octets& raw) {
    Octets back(raw.size());
    return decode(encode(tag, raw), back) == codec::Error::none && back == raw;
  }
  [[nodiscard]] std::size_t held_bytes() const { return encoder_.statistics().history_bytes; }

  codec::Id last_codec = codec::Id::stored;

 private:
  static codec::LinkOptions options(std::size_t history_bytes) {
    codec::LinkOptions options;
    options.frame.codec = codec::Id::dfcm;
    options.frame.allow_in_place = false;
    options.history_bytes = history_bytes;
    return options;
  }
  codec::Encoder encoder_;
  codec::Decoder decoder_;
};

/// The multiples of ten from `first` on: what the worked example is about.
Octets tens(std::uint64_t first, std::size_t count = 128) {
  std::vector<std::uint64_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = first + 10 * i;
  return octets_of(values);
}

Octets noise(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> values(count);
  for (std::uint64_t& v : values) v = random();
  return octets_of(values);
}

constexpr std::size_t enough = 8 << 20;

}  // namespace

TEST_CASE("dfcm: a link keeps tables for each tag, from message to message") {
  Link link(enough);
  CHECK(link.encode(1, tens(10)).size() == 8 + 1 + 128);
  CHECK(link.encode(2, tens(10))[9] == 0xaf);
  CHECK(link.encode(1, tens(1290))[9] == 0x0f);
  CHECK(link.held_bytes() == 2 * DfcmPredictor::table_bytes);
  Link other(enough);
  for (std::uint64_t first = 10; first < 20000; first += 1280) {
    CHECK(other.carries(1, tens(first)));
    CHECK(other.carries(2, tens(2 * first, 500)));
    CHECK(other.carries(1, tens(5, 16)));  // too short for a stream
  }
}

TEST_CASE("dfcm: tags may overtake each other, messages of one tag may not") {
  Link link(enough);
  const Octets a = link.encode(1, tens(10)), b = link.encode(1, tens(1290)), c = link.encode(2, tens(7));
  Octets back(1024);
  CHECK(link.decode(c, back) == codec::Error::none);
  CHECK(back == tens(7));
  CHECK(link.decode(b, back) == codec::Error::missing_reference);
  CHECK(link.decode(a, back) == codec::Error::none);
  CHECK(link.decode(b, back) == codec::Error::none);
  CHECK(back == tens(1290));
  CHECK(link.decode(b, back) == codec::Error::missing_reference);
}

TEST_CASE("dfcm: a message that is stored changes no tables") {
  Link link(enough);
  CHECK(link.carries(1, tens(10)));
  CHECK(link.carries(1, noise(4096, 1)));
  CHECK(link.last_codec == codec::Id::stored);
  const Octets next = link.encode(1, tens(1290));
  CHECK(next[9] == 0x0f);
  Octets back(1024);
  CHECK(link.decode(next, back) == codec::Error::none);
  CHECK(back == tens(1290));
}

TEST_CASE("dfcm: tags beyond the memory have frames that stand by themselves") {
  Link link(2 * DfcmPredictor::table_bytes + 1);
  for (int round = 0; round < 3; ++round) {
    for (std::int64_t tag = 0; tag < 5; ++tag)
      CHECK(link.carries(tag, tens(10 + 1280 * static_cast<std::uint64_t>(round))));
  }
  CHECK(link.held_bytes() == 2 * DfcmPredictor::table_bytes);
  Link none(0);
  CHECK(none.carries(1, tens(10)));
  CHECK(none.held_bytes() == 0);
}

TEST_CASE("dfcm: a stream goes on beyond the numbers that fit a head") {
  Link link(enough);
  for (int i = 0; i < 66000; ++i) REQUIRE(link.carries(1, tens(static_cast<std::uint64_t>(10 + 1280 * i))));
}

TEST_CASE("a checksum finds every single wrong bit") {
  for (const std::size_t bytes : {1u, 7u, 8u, 9u, 31u, 32u, 33u, 100u, 1029u}) {
    Octets message = noise(200, 7);
    message.resize(bytes);
    const auto sum = [&] { return codec::checksum(std::as_bytes(std::span(message))); };
    const std::uint64_t right = sum();
    for (std::size_t bit = 0; bit < 8 * bytes; ++bit) {
      message[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
      CHECK(sum() != right);
      message[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    }
    message.push_back(0);
    CHECK(sum() != right);
  }
}

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

TEST_CASE("dfcm: a worked example, and what the second message gains from the first") {
  // The numbers 10, 20, 30, … as 64-bit integers: all differences are 10, whose highest 14 bits are zero, so that all
  // contexts are line 0. 10: predicted 0, difference 0xa, 15 zero digits. 20: predicted 10 + 10 + drift (10 - 0) = 30,
  // 20 xor 30 = 0xa. From then on the prediction is right: 15 zero digits, and one digit 0.
  std::vector<std::uint64_t> values(128);
  std::uint64_t value = 0;
  const auto next_message = [&] {
    for (std::uint64_t& v : values) v = value += 10;
    return octets_of(values);
  };
  DfcmPredictor predictor;
  Octets expected(128, 0x0f);
  expected[0] = expected[1] = 0xaf;
  CHECK(encoded(predictor, next_message()) == expected);
  // As new, it would take 1290 for 0x50a: 13 zero digits and three more.
  CHECK(encoded(predictor, next_message()) == Octets(128, 0x0f));
  const Octets third = octets_of(std::vector<std::uint64_t>{2570});
  predictor.begin_undoable(1);
  CHECK(encoded(predictor, third) == Octets{0x0f});
  predictor.undo();
  CHECK(encoded(predictor, third) == Octets{0x0f});
  predictor.reset();
  CHECK(encoded(predictor, third) == Octets{0xad, 0xa0});
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

TEST_CASE("dfcm: a frame leaves room for what a transport puts around it, or the message is stored") {
  namespace codec = antiphon::codec;
  std::mt19937_64 random(7);
  codec::LinkOptions options;
  options.frame.codec = codec::Id::dfcm;
  int frames = 0, stored = 0;
  for (const std::size_t minimum_bytes : {std::size_t{0}, std::size_t{1024}}) {
    options.frame.minimum_frame_bytes = minimum_bytes;
    codec::Encoder sender(options);
    codec::Decoder receiver;
    for (std::size_t repeated = 0; repeated <= 128; ++repeated) {
      std::vector<std::uint64_t> values(128, 0x4000000000000000);
      for (std::size_t i = repeated; i < values.size(); ++i) values[i] = random();
      const Octets raw = octets_of(values);
      const codec::ConstBytes bytes(reinterpret_cast<const std::byte*>(raw.data()), raw.size());
      std::vector<std::byte> room(codec::bound(raw.size())), got(raw.size());
      const codec::Frame frame = sender.encode({.tag = 1, .message_bytes = raw.size()}, bytes, room);
      if (frame.codec == codec::Id::stored) {
        ++stored;
        continue;
      }
      ++frames;
      CHECK(frame.bytes + 28 <= raw.size());
      CHECK(receiver.decode(codec::ConstBytes(room).first(frame.bytes), got) == codec::Error::none);
      CHECK(std::memcmp(got.data(), raw.data(), raw.size()) == 0);
    }
  }
  CHECK(frames > 50);
  CHECK(stored > 50);
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

TEST_CASE("dfcm: what can be undone takes no more than the table, and nothing once it is done") {
  for (const std::size_t count : {std::size_t{128}, std::size_t{21845}, std::size_t{21846}, std::size_t{300'000}}) {
    CAPTURE(count);
    DfcmPredictor predictor, plain;
    const Octets first = tens(10, 5000), second = noise(count, 2), third = tens(77, 128);
    CHECK(encoded(predictor, first) == encoded(plain, first));
    for (int times = 0; times < 2; ++times) {
      predictor.begin_undoable(count);
      encoded(predictor, second);
      CHECK(predictor.held_bytes() > DfcmPredictor::table_bytes);
      CHECK(predictor.held_bytes() <= 2 * DfcmPredictor::table_bytes);
      predictor.undo();
      CHECK(predictor.held_bytes() == DfcmPredictor::table_bytes);
    }
    predictor.begin_undoable(count);
    CHECK(encoded(predictor, third) == encoded(plain, third));
    predictor.keep();
    CHECK(predictor.held_bytes() == DfcmPredictor::table_bytes);
  }
}

TEST_CASE("dfcm: a code that would be too long is given up within its room") {
  const Octets raw = noise(5000, 4);
  DfcmPredictor sender, other;
  Octets out(raw.size() + 32 + 8, 0x5a);
  CHECK(sender.encode(raw, out.data(), raw.size() - 1) == 0);
  CHECK(std::all_of(out.end() - 8, out.end(), [](std::uint8_t byte) { return byte == 0x5a; }));
  const std::size_t bytes = encoded(other, raw).size();
  Octets whole(bytes + 32);
  sender.reset();
  CHECK(sender.encode(raw, whole.data(), bytes - 1) == 0);
  sender.reset();
  CHECK(sender.encode(raw, whole.data(), bytes) == bytes);
}
