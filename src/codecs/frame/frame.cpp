// SPDX-License-Identifier: Apache-2.0
#include "codecs/frame/frame.hpp"

#include <algorithm>

namespace antiphon::codec {

namespace {

Frame stored_frame(ConstBytes raw, const Keep& keep, const Options& options, Bytes out) {
  Frame frame;
  frame.bytes = frame_overhead_bytes + raw.size();
  frame.head = bytes_of({Id::stored, keep.kept, false, keep.sequence, raw.size()});
  std::memcpy(out.data(), frame.head.data(), frame_overhead_bytes);
  frame.in_place = options.allow_in_place;
  if (!frame.in_place && !raw.empty()) std::memcpy(out.data() + frame_overhead_bytes, raw.data(), raw.size());
  return frame;
}

/// Fills the frame with zeros up to the minimum and appends the length that it had before. Returns the new length.
std::size_t pad(Bytes out, std::size_t bytes, std::size_t minimum_bytes) {
  const std::size_t padded = std::max(bytes + padding_bytes, minimum_bytes);
  std::memset(out.data() + bytes, 0, padded - bytes);
  store(out.data() + padded - padding_bytes, static_cast<std::uint32_t>(bytes));
  return padded;
}

}  // namespace

Frame write_frame(ConstBytes raw, const Encoding& encoding, const ReferenceSet& references, const Keep& keep,
                  const Options& options, Work& work, Bytes out) {
  const Codec* codec = find_codec(encoding.codec);
  if (codec == nullptr || encoding.codec == Id::stored || raw.empty()) return stored_frame(raw, keep, options, out);
  Writer writer(u8_of(out) + frame_overhead_bytes);
  if (keep.kept) writer.varint(keep.reach);
  const std::size_t before = frame_overhead_bytes + writer.written();
  const std::size_t body =
      codec->encode({raw, encoding, references, kernel_of(options.isa), work}, out.subspan(before));
  return finish_frame(raw, encoding.codec, body == 0 ? 0 : before + body, keep, options, out);
}

Frame finish_frame(ConstBytes raw, Id codec, std::size_t bytes, const Keep& keep, const Options& options, Bytes out) {
  const std::size_t limit = frame_overhead_bytes + raw.size();
  const bool padded = bytes < options.minimum_frame_bytes;
  if (bytes == 0 || bytes >= limit ||
      (padded && std::max(bytes + padding_bytes, options.minimum_frame_bytes) >= limit)) {
    // The predictors of dfcm know nothing of messages that are stored.
    return stored_frame(raw, codec == Id::dfcm ? Keep{} : keep, options, out);
  }
  if (padded) bytes = pad(out, bytes, options.minimum_frame_bytes);
  Frame frame{codec, false, bytes, bytes_of({codec, keep.kept, padded, keep.sequence, raw.size()})};
  std::memcpy(out.data(), frame.head.data(), frame_overhead_bytes);
  return frame;
}

Error take_apart(ConstBytes head, ConstBytes body, Parts& parts) {
  if (const Error error = read_head(head, parts.head); error != Error::none) return error;
  parts.body = body;
  if (parts.head.padded) {
    if (parts.head.codec == Id::stored || body.size() < padding_bytes) return Error::damaged;
    const std::size_t bytes = load<std::uint32_t>(body.data() + body.size() - padding_bytes);
    if (bytes < frame_overhead_bytes || bytes - frame_overhead_bytes > body.size() - padding_bytes)
      return Error::damaged;
    parts.body = body.first(bytes - frame_overhead_bytes);
  }
  if (parts.head.codec == Id::stored) return parts.body.size() == parts.head.raw_bytes ? Error::none : Error::damaged;
  if (parts.head.kept) {
    Reader reader(parts.body);
    parts.reach = static_cast<std::uint16_t>(reader.varint(0x7fff));
    if (!reader.ok()) return Error::damaged;
    parts.body = reader.rest();
  }
  return Error::none;
}

Error decode_parts(const Parts& parts, Bytes raw_out, ReferenceSource* references, const Kernel& kernel, Work& work) {
  if (raw_out.size() != parts.head.raw_bytes) return Error::wrong_size;
  if (parts.head.codec == Id::stored) {
    if (!raw_out.empty() && parts.body.data() != raw_out.data())
      std::memcpy(raw_out.data(), parts.body.data(), raw_out.size());
    return Error::none;
  }
  const Codec* codec = find_codec(parts.head.codec);
  if (codec == nullptr || raw_out.empty()) return Error::damaged;
  if (!codec->available()) return Error::unavailable;
  return codec->decode({parts.body, raw_out, references, kernel, work});
}

Frame encode(ConstBytes raw, const Options& options, Bytes out) {
  Work& work = work_of_thread();
  return write_frame(raw, choose_standalone(raw, options, kernel_of(options.isa), work).encoding, {}, {}, options, work,
                     out);
}

Error decode(ConstBytes frame, Bytes raw_out, Isa isa) {
  if (frame.size() < frame_overhead_bytes) return Error::truncated;
  return decode(frame.first(frame_overhead_bytes), frame.subspan(frame_overhead_bytes), raw_out, isa);
}

Error decode(ConstBytes head, ConstBytes body, Bytes raw_out, Isa isa) {
  Parts parts;
  if (const Error error = take_apart(head, body, parts); error != Error::none) return error;
  return decode_parts(parts, raw_out, nullptr, kernel_of(isa), work_of_thread());
}

std::uint64_t raw_bytes(ConstBytes head) {
  Head read;
  return read_head(head, read) == Error::none ? read.raw_bytes : not_a_frame;
}

Id codec_of(ConstBytes head) {
  Head read;
  return read_head(head, read) == Error::none ? read.codec : Id::automatic;
}

}  // namespace antiphon::codec
