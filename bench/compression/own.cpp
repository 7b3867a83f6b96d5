// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "../../src/codecs/predict/dfcm_predictor.hpp"
#include "contender.hpp"

namespace antiphon::codec_bench {

namespace {

codec::Element element_of(Type type) {
  switch (type) {
    case Type::f64: return codec::Element::f64;
    case Type::f32: return codec::Element::f32;
    case Type::i32: return codec::Element::i32;
    case Type::i64: return codec::Element::i64;
    case Type::bytes: break;
  }
  return codec::Element::unknown;
}

/// A link to each destination. Long messages go in pieces, as the product sends them.
class Links : public Session {
 public:
  /// Id::temporal uses differences within and between messages, whichever are shorter, and nothing else.
  Links(codec::Id id, double wire_bytes_per_s) {
    options_.frame.codec = id == codec::Id::temporal ? codec::Id::automatic : id;
    const auto bit = [](codec::Id one) { return 1u << static_cast<int>(one); };
    if (id == codec::Id::temporal) {
      options_.frame.allowed_codecs = bit(codec::Id::stored) | bit(codec::Id::spatial) | bit(codec::Id::temporal);
    }
    options_.frame.wire_bytes_per_s = wire_bytes_per_s;
  }

  std::size_t encode(const Message& message, std::byte* out) override {
    codec::Encoder& encoder = encoders_.try_emplace(message.destination, options_).first->second;
    const codec::Pieces pieces{message.payload.size()};
    std::size_t wire = 0;
    Sent sent;
    for (std::size_t piece = 0; piece < pieces.count(); ++piece) {
      const codec::ConstBytes raw(message.payload.data() + pieces.offset(piece), pieces.bytes(piece));
      const codec::Channel channel{message.tag, message.payload.size(), static_cast<std::uint32_t>(piece)};
      const codec::Frame frame =
          encoder.encode(channel, raw, {out, codec::bound(raw.size())}, element_of(message.type));
      wire += frame.bytes;
      const std::size_t written = frame.in_place ? codec::frame_overhead_bytes : frame.bytes;
      sent.push_back({written, frame.in_place});
      out += written;
    }
    under_way_.push_back(std::move(sent));
    return wire;
  }

  void deliver(const Message& message, std::byte* raw_out) override {
    const codec::Pieces pieces{message.payload.size()};
    for (std::size_t piece = 0; piece < pieces.count(); ++piece) {
      if (!under_way_.front()[piece].in_place || message.payload.empty()) continue;
      std::memcpy(raw_out + pieces.offset(piece), message.payload.data() + pieces.offset(piece), pieces.bytes(piece));
    }
  }

  bool decode(const Message& message, const std::byte* frame, std::size_t, std::byte* raw_out) override {
    codec::Decoder& decoder = decoders_.try_emplace(message.destination, codec::Isa::best).first->second;
    const codec::Pieces pieces{message.payload.size()};
    const Sent sent = std::move(under_way_.front());
    under_way_.pop_front();
    for (std::size_t piece = 0; piece < pieces.count(); ++piece) {
      const codec::Bytes raw(raw_out + pieces.offset(piece), pieces.bytes(piece));
      const codec::ConstBytes whole(frame, sent[piece].written), head = whole.first(codec::frame_overhead_bytes);
      const codec::ConstBytes body =
          sent[piece].in_place ? codec::ConstBytes(raw) : whole.subspan(codec::frame_overhead_bytes);
      if (decoder.decode(head, body, raw) != codec::Error::none) return false;
      frame += sent[piece].written;
    }
    return true;
  }

 private:
  struct Piece {
    std::size_t written;
    bool in_place;
  };
  using Sent = std::vector<Piece>;
  codec::LinkOptions options_;
  std::map<int, codec::Encoder> encoders_;
  std::map<int, codec::Decoder> decoders_;
  std::deque<Sent> under_way_;
};

/// As in the paper, each peer has a predictor, made at its first message of 1 KB or more. Shorter messages are sent as
/// they are.
class Dfcm : public Session {
 public:
  std::size_t encode(const Message& message, std::byte* out) override {
    if (message.payload.size() < codec::DfcmPredictor::threshold_bytes) return message.payload.size() + head_bytes;
    auto& predictor = senders_[message.destination];
    return predictor.encode({reinterpret_cast<const std::uint8_t*>(message.payload.data()), message.payload.size()},
                            reinterpret_cast<std::uint8_t*>(out)) +
           head_bytes;
  }

  void deliver(const Message& message, std::byte* raw_out) override {
    if (message.payload.size() < codec::DfcmPredictor::threshold_bytes)
      std::copy(message.payload.begin(), message.payload.end(), raw_out);
  }

  bool decode(const Message& message, const std::byte* frame, std::size_t frame_bytes, std::byte* raw_out) override {
    if (message.payload.size() < codec::DfcmPredictor::threshold_bytes) return true;
    return receivers_[message.destination].decode(
        {reinterpret_cast<const std::uint8_t*>(frame), frame_bytes - head_bytes},
        {reinterpret_cast<std::uint8_t*>(raw_out), message.payload.size()});
  }

 private:
  std::map<int, codec::DfcmPredictor> senders_, receivers_;
};

class Copy : public Session {
 public:
  std::size_t encode(const Message& message, std::byte* out) override {
    std::copy(message.payload.begin(), message.payload.end(), out);
    return message.payload.size() + head_bytes;
  }
  bool decode(const Message& message, const std::byte* frame, std::size_t, std::byte* raw_out) override {
    std::copy_n(frame, message.payload.size(), raw_out);
    return true;
  }
};

std::unique_ptr<Session> make_links(const Contender& contender, double wire_bytes_per_s) {
  return std::make_unique<Links>(static_cast<codec::Id>(contender.setting), wire_bytes_per_s);
}
std::unique_ptr<Session> make_dfcm(const Contender&, double) { return std::make_unique<Dfcm>(); }
std::unique_ptr<Session> make_copy(const Contender&, double) { return std::make_unique<Copy>(); }

}  // namespace

std::vector<Contender> own_contenders() {
  const auto id = [](codec::Id value) { return static_cast<int>(value); };
  return {{"antiphon", "what Antiphon chooses for each channel", "", make_links, id(codec::Id::automatic)},
          {"spatial", "Antiphon's differences within a message", "", make_links, id(codec::Id::spatial)},
          {"temporal", "Antiphon's prediction from earlier messages", "", make_links, id(codec::Id::temporal)},
          {"dfcm", "value prediction of paper 3, the baseline", "", make_dfcm},
          {"copy", "memcpy: how fast memory is", "", make_copy}};
}

}  // namespace antiphon::codec_bench
