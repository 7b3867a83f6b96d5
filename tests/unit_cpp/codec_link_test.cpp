// SPDX-License-Identifier: Apache-2.0
// Checks links: messages that are predicted from earlier ones decode bit for bit, and both ends stay in step.
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "antiphon/codec.hpp"

using namespace antiphon::codec;

namespace {

using Buffer = std::vector<std::byte>;

/// A field advances by one step with each message.
Buffer field(std::size_t values, double time, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<double> x(values);
  for (std::size_t i = 0; i < values; ++i) {
    const double phase = static_cast<double>(random() % 1000) * 1e-3;
    x[i] = 3 + std::sin(static_cast<double>(i) * 0.05 + phase + time * 1e-3);
  }
  Buffer bytes(values * 8);
  std::memcpy(bytes.data(), x.data(), bytes.size());
  return bytes;
}

Buffer noise(std::size_t bytes, unsigned seed) {
  std::mt19937_64 random(seed);
  Buffer result(bytes);
  for (std::byte& b : result) b = static_cast<std::byte>(random());
  return result;
}

struct Sent {
  Buffer frame;
  Frame info;
};

Sent send(Encoder& encoder, const Channel& channel, const Buffer& raw, Element element = Element::f64) {
  Sent sent;
  sent.frame.resize(bound(raw.size()));
  sent.info = encoder.encode(channel, raw, sent.frame, element);
  CHECK(sent.info.bytes <= raw.size() + frame_overhead_bytes);
  if (sent.info.in_place && !raw.empty()) std::memcpy(sent.frame.data() + frame_overhead_bytes, raw.data(), raw.size());
  sent.frame.resize(sent.info.bytes);
  return sent;
}

bool arrives(Decoder& decoder, const Buffer& frame, const Buffer& raw) {
  Buffer back(raw.size());
  return decoder.decode(frame, back) == Error::none && back == raw;
}

}  // namespace

TEST_CASE("codec link: a moving field is foretold, on every instruction set alike") {
  std::vector<Buffer> first;
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    LinkOptions options;
    options.frame.isa = isa;
    Encoder encoder(options);
    Decoder decoder(isa);
    std::vector<Buffer> frames;
    for (int step = 0; step < 40; ++step) {
      const Buffer raw = field(3000, step);
      const Sent sent = send(encoder, {7, raw.size(), 0}, raw);
      CHECK(arrives(decoder, sent.frame, raw));
      frames.push_back(sent.frame);
    }
    CHECK(encoder.statistics().temporal_frames > 30);
    CHECK(frames.back().size() * 2 < frames.front().size());
    if (first.empty()) first = frames;
    CHECK(frames == first);
  }
}

TEST_CASE("codec link: two fields in turns on one channel") {
  Encoder encoder;
  Decoder decoder;
  std::size_t last = 0;
  for (int step = 0; step < 60; ++step) {
    const Buffer raw = field(2000, step / 2, step % 2 == 0 ? 1 : 99);
    const Sent sent = send(encoder, {1, raw.size(), 0}, raw);
    CHECK(arrives(decoder, sent.frame, raw));
    last = sent.frame.size();
  }
  CHECK(last * 2 < 2000 * 8);
}

TEST_CASE("codec link: pieces, tags and sizes interleaved; those of different channels decoded in another order") {
  Encoder encoder;
  Decoder decoder;
  for (int step = 0; step < 12; ++step) {
    std::vector<std::pair<Buffer, Buffer>> under_way;
    for (const std::int64_t tag : {3, -9, 1 << 20}) {
      const Buffer whole =
          field(static_cast<std::size_t>(9000 + (tag & 0xff)), step, static_cast<unsigned>(tag & 0xff));
      const Pieces pieces{whole.size(), 16 << 10};
      REQUIRE(pieces.count() == 5);
      std::vector<std::pair<Buffer, Buffer>> of_message;
      for (std::size_t p = 0; p < pieces.count(); ++p) {
        const auto from = whole.begin() + static_cast<std::ptrdiff_t>(pieces.offset(p));
        const Buffer raw(from, from + static_cast<std::ptrdiff_t>(pieces.bytes(p)));
        of_message.emplace_back(send(encoder, {tag, whole.size(), static_cast<std::uint32_t>(p)}, raw).frame, raw);
      }
      under_way.insert(under_way.begin(), of_message.begin(), of_message.end());
    }
    for (const auto& [frame, raw] : under_way) CHECK(arrives(decoder, frame, raw));
  }
  CHECK(encoder.statistics().temporal_frames > 100);
}

TEST_CASE("codec link: messages of one size cut differently each time") {
  Encoder encoder;
  Decoder decoder;
  for (int step = 0; step < 60; ++step) {
    const Buffer whole = field(4000, step);
    const Pieces pieces{whole.size(), static_cast<std::size_t>(4096 + 1000 * (step / 3 % 7) + step % 2)};
    for (std::size_t p = 0; p < pieces.count(); ++p) {
      const auto from = whole.begin() + static_cast<std::ptrdiff_t>(pieces.offset(p));
      const Buffer raw(from, from + static_cast<std::ptrdiff_t>(pieces.bytes(p)));
      CHECK(arrives(decoder, send(encoder, {1, whole.size(), static_cast<std::uint32_t>(p)}, raw).frame, raw));
    }
  }
}

TEST_CASE("codec link: a frame whose reference is missing or another says so, and can be tried again") {
  Encoder encoder;
  std::vector<Sent> sent;
  std::vector<Buffer> raws;
  for (int step = 0; step < 6; ++step) {
    raws.push_back(field(2000, step));
    sent.push_back(send(encoder, {1, raws.back().size(), 0}, raws.back()));
  }
  REQUIRE(sent[2].info.codec == Id::temporal);
  Buffer back(raws[0].size());
  Decoder late;
  CHECK(late.decode(sent[2].frame, back) == Error::missing_reference);
  CHECK(arrives(late, sent[0].frame, raws[0]));
  CHECK(arrives(late, sent[1].frame, raws[1]));
  CHECK(arrives(late, sent[2].frame, raws[2]));
  CHECK(decode(sent[2].frame, back) == Error::missing_reference);
  Encoder other;
  Decoder confused;
  const Buffer wrong = field(2000, 77, 5);
  for (int i = 0; i < 2; ++i) CHECK(arrives(confused, send(other, {1, wrong.size(), 0}, wrong).frame, wrong));
  CHECK(confused.decode(sent[2].frame, back) == Error::wrong_reference);
}

TEST_CASE("codec link: memory for earlier messages stays within what was allowed, at both ends") {
  LinkOptions options;
  options.history_bytes = 1 << 20;
  Encoder encoder(options);
  Decoder decoder;
  for (int step = 0; step < 300; ++step) {
    const auto values = static_cast<std::size_t>(1000 + 500 * (step % 7));
    const Buffer raw = field(values, step);
    CHECK(arrives(decoder, send(encoder, {step % 5, raw.size(), 0}, raw).frame, raw));
    CHECK(encoder.statistics().history_bytes <= options.history_bytes * 3 / 2);
    CHECK(decoder.statistics().history_bytes <= (options.history_bytes + raw.size()) * 3 / 2);
  }
}

TEST_CASE("codec link: a frame that never comes does not make the receiver remember for ever") {
  LinkOptions options;
  options.history_bytes = 256 << 10;
  Encoder encoder(options);
  Decoder decoder;
  for (int step = 0; step < 200; ++step) {
    const Buffer raw = field(1000, step);
    const Buffer lost = field(1000, step, 50);
    const Sent cancelled = send(encoder, {2, lost.size() + static_cast<std::size_t>(step), 0}, lost);
    decoder.skip(cancelled.frame);
    CHECK(arrives(decoder, send(encoder, {1, raw.size(), 0}, raw).frame, raw));
  }
  CHECK(decoder.statistics().history_bytes < std::size_t{1} << 20);
}

TEST_CASE("codec link: one frame that comes late does not make the receiver keep all that come before it") {
  LinkOptions options;
  options.history_bytes = 256 << 10;
  Encoder encoder(options);
  Decoder decoder;
  const Buffer first = field(500, 0, 9);
  const Sent late = send(encoder, {1, first.size(), 0}, first);
  for (int step = 0; step < 300; ++step) {
    const Buffer raw = field(1000, step);
    CHECK(arrives(decoder, send(encoder, {2, raw.size(), 0}, raw).frame, raw));
    CHECK(decoder.statistics().history_bytes <= 2 * options.history_bytes);
    if (step == 200) CHECK(arrives(decoder, late.frame, first));
  }
  CHECK(encoder.statistics().temporal_frames > 250);
}

TEST_CASE("codec link: channels decoded in any order among each other lack nothing that they build on") {
  std::mt19937 random(3);
  LinkOptions options;
  options.history_bytes = 64 << 10;
  Encoder encoder(options);
  Decoder decoder;
  std::vector<std::vector<std::pair<Buffer, Buffer>>> under_way(4);
  for (int step = 0; step < 1500; ++step) {
    const std::size_t tag = random() % under_way.size();
    const Buffer raw = field(150 + 40 * tag, step, static_cast<unsigned>(tag));
    const auto channel = static_cast<std::int64_t>(tag);
    under_way[tag].emplace_back(send(encoder, {channel, raw.size(), 0}, raw).frame, raw);
    // One channel is decoded as far as it goes, and rarely the last one.
    auto& decoded = under_way[random() % (step % 64 == 0 ? 4 : 3)];
    for (const auto& [frame, message] : decoded) CHECK(arrives(decoder, frame, message));
    decoded.clear();
  }
  CHECK(encoder.statistics().temporal_frames > 1000);
  CHECK(decoder.statistics().history_bytes <= 8 * options.history_bytes);
}

TEST_CASE("codec link: the numbers of frames begin again after 65,536") {
  Encoder encoder;
  Decoder decoder;
  Buffer raw(256);
  for (std::uint32_t step = 0; step < 70'000; ++step) {
    for (std::size_t i = 0; i < raw.size() / 4; ++i) {
      const std::uint32_t value = step * 3 + static_cast<std::uint32_t>(i * i);
      std::memcpy(raw.data() + 4 * i, &value, 4);
    }
    Buffer frame(bound(raw.size())), back(raw.size());
    const Frame sent = encoder.encode({1, raw.size(), 0}, raw, frame, Element::i32);
    frame.resize(sent.bytes);
    REQUIRE(!sent.in_place);
    REQUIRE(decoder.decode(frame, back) == Error::none);
    REQUIRE(back == raw);
  }
  CHECK(encoder.statistics().temporal_frames > 60'000);
}

TEST_CASE("codec link: what cannot be compressed is sent in place, 8 bytes longer, and soon left alone") {
  Encoder encoder;
  Decoder decoder;
  for (unsigned step = 0; step < 200; ++step) {
    const Buffer raw = noise(10'000, step);
    const Sent sent = send(encoder, {1, raw.size(), 0}, raw, Element::unknown);
    CHECK(sent.info.in_place);
    CHECK(arrives(decoder, sent.frame, raw));
  }
  CHECK(encoder.statistics().plans < 100);
}

TEST_CASE("codec link: a stored body that lies where it belongs is not copied") {
  Decoder decoder;
  Encoder encoder;
  Buffer raw = noise(5000, 3);
  const Sent sent = send(encoder, {1, raw.size(), 0}, raw);
  REQUIRE(sent.info.codec == Id::stored);
  CHECK(decoder.decode(sent.info.head, raw, raw) == Error::none);
}

TEST_CASE("codec: short frames are padded to the threshold") {
  const Buffer zeros(5000);
  for (const std::size_t minimum : {64, 1000, 4990, 5007, 5008, 6000}) {
    Buffer out(bound(zeros.size()));
    const Frame frame = encode(zeros, {.minimum_frame_bytes = minimum, .allow_in_place = false}, out);
    CHECK(frame.bytes >= std::min(minimum, zeros.size() + frame_overhead_bytes));
    CHECK(frame.bytes <= zeros.size() + frame_overhead_bytes);
    out.resize(frame.bytes);
    Buffer back(zeros.size(), std::byte{1});
    CHECK(decode(out, back) == Error::none);
    CHECK(back == zeros);
  }
}

TEST_CASE("codec: damaged frames end in an error or a message, never outside their buffers") {
  std::mt19937_64 random(5);
  for (const Id id : {Id::spatial, Id::lz4, Id::zstd, Id::stored}) {
    const Buffer raw = field(700, 3);
    Buffer out(bound(raw.size()));
    out.resize(encode(raw, {.codec = id, .allow_in_place = false}, out).bytes);
    for (std::size_t length = 0; length < out.size(); length += 1 + out.size() / 300) {
      Buffer back(raw.size());
      const Buffer cut(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(length));
      CHECK(decode(cut, back) != Error::none);
    }
    for (int i = 0; i < 3000; ++i) {
      Buffer changed = out;
      for (int k = 0; k <= i % 4; ++k)
        changed[random() % std::min<std::size_t>(changed.size(), i % 2 ? 64 : 1 << 20)] =
            static_cast<std::byte>(random());
      const std::uint64_t bytes = raw_bytes(changed);
      Buffer back(bytes <= 1 << 20 ? bytes : raw.size());
      const Isa isa = i % 3 == 0 ? Isa::portable : i % 3 == 1 ? Isa::avx2 : Isa::avx512;
      (void)decode(changed, back, isa);
    }
    Buffer head = out;
    for (int bit = 0; bit < 64; ++bit) {
      head[static_cast<std::size_t>(bit / 8)] ^= static_cast<std::byte>(1 << bit % 8);
      Buffer back(raw.size());
      CHECK(decode(head, back) != Error::none);
      head[static_cast<std::size_t>(bit / 8)] ^= static_cast<std::byte>(1 << bit % 8);
    }
  }
}

TEST_CASE("codec link: a foretold message whose last segment is full noise") {
  for (const std::size_t last : {std::size_t{248}, std::size_t{65528}}) {
    Encoder encoder;
    Decoder decoder;
    for (unsigned step = 0; step < 12; ++step) {
      Buffer raw = field(3 * 8192, step);
      const Buffer end = noise(last, step);
      raw.insert(raw.end(), end.begin(), end.end());
      CHECK(arrives(decoder, send(encoder, {7, raw.size(), 0}, raw).frame, raw));
    }
  }
}
