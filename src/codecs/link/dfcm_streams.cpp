// SPDX-License-Identifier: Apache-2.0
#include "codecs/link/dfcm_streams.hpp"

#include <algorithm>

namespace antiphon::codec {

namespace {

/// A transport puts at most so much around a frame: a frame that is sent must leave the message shorter even so, since
/// the predictors of both ends go on with it.
constexpr std::size_t most_around_bytes = 32;

std::size_t longest(std::size_t bytes, const Options& options) {
  return bytes < options.minimum_frame_bytes ? std::max(bytes + padding_bytes, options.minimum_frame_bytes) : bytes;
}

}  // namespace

bool DfcmEncoder::takes(std::int64_t tag, std::size_t message_bytes) {
  if (message_bytes < DfcmPredictor::threshold_bytes || message_bytes > max_kept_bytes) return false;
  if (streams_.contains(tag)) return true;
  if (streams_.size() >= most_) return false;
  const auto id = static_cast<std::uint16_t>(streams_.size());
  streams_.try_emplace(tag).first->second.id = id;
  return true;
}

Frame DfcmEncoder::encode(std::int64_t tag, ConstBytes raw, const Options& options, Bytes out) {
  Stream& stream = streams_.at(tag);
  Writer writer(u8_of(out) + frame_overhead_bytes);
  writer.varint(stream.id);
  const std::size_t before = frame_overhead_bytes + writer.written();
  stream.predictor.begin_undoable(raw.size() / 8);
  const std::size_t body = stream.predictor.encode({u8_of(raw), raw.size()}, u8_of(out) + before, raw.size() - 1);
  const bool shorter = body != 0 && longest(before + body, options) + most_around_bytes <= raw.size();
  const std::size_t bytes = shorter ? before + body : 0;
  const Frame frame = finish_frame(raw, Id::dfcm, bytes, {true, stream.number, 0}, options, out);
  if (frame.codec == Id::stored) {
    stream.predictor.undo();
  } else {
    stream.predictor.keep();
    stream.number = next_in_stream(stream.number);
  }
  return frame;
}

Error DfcmDecoder::decode(const Parts& parts, Bytes raw_out) {
  if (raw_out.size() != parts.head.raw_bytes) return Error::wrong_size;
  const std::uint16_t id = parts.reach;  // frames of streams carry it there
  const std::uint16_t number = parts.head.sequence;
  if (id >= most_dfcm_streams) return Error::damaged;
  if (!streams_.contains(id) && number != 0) return Error::missing_reference;
  Stream& stream = streams_.try_emplace(id).first->second;
  if (number == 0) {
    stream.predictor.reset();
    stream.next = 0;
    stream.broken = false;
  }
  if (stream.broken || number != stream.next) return Error::missing_reference;
  if (!stream.predictor.decode({u8_of(parts.body), parts.body.size()}, {u8_of(raw_out), raw_out.size()})) {
    stream.broken = true;
    return Error::damaged;
  }
  stream.next = next_in_stream(number);
  return Error::none;
}

}  // namespace antiphon::codec
