// SPDX-License-Identifier: Apache-2.0
#include "run/coding.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "job/clock.hpp"

namespace antiphon::mpi {

namespace {

/// Encodes for all schedules that this thread advances. It keeps nothing of the data, so that any thread can decode
/// each frame by itself. It keeps plans, because making one takes ten times as long as encoding a piece.
codec::Encoder& encoder_of_thread(std::uint32_t codecs) {
  thread_local codec::Encoder encoder([codecs] {
    codec::LinkOptions options;
    options.history_bytes = 0;
    options.frame.allowed_codecs = codecs;
    options.frame.codec = framing_state.codec;
    return options;
  }());
  return encoder;
}

void put(const codec::Frame& frame, std::span<const std::byte> data, const std::vector<std::byte>& room,
         std::byte* slot) {
  const std::int64_t length = slot::check_bytes + static_cast<std::int64_t>(frame.bytes);
  slot::set_frame_length(slot, length);
  std::byte* const wire = slot + slot::length_bytes;
  std::byte* const body = wire + slot::check_bytes;
  if (frame.in_place) {
    std::memcpy(body, frame.head.data(), frame.head.size());
    if (!data.empty()) std::memcpy(body + frame.head.size(), data.data(), data.size());
  } else {
    std::memcpy(body, room.data(), frame.bytes);
  }
  const std::uint64_t check = codec::checksum({body, frame.bytes});
  std::memcpy(wire, &check, sizeof check);
}

/// Returns what the wire carries.
std::span<std::byte> wire_of(std::byte* slot) {
  return {slot + slot::length_bytes, static_cast<std::size_t>(slot::frame_length(slot))};
}

/// Decodes what has come, if it is what was sent.
codec::Error decode_checked(std::span<std::byte> data, const std::byte* slot) {
  const std::int64_t length = slot::frame_length(slot);
  if (!slot::holds(static_cast<std::int64_t>(data.size()) + encoded_overhead_bytes, length))
    return codec::Error::truncated;
  const std::byte* const wire = slot + slot::length_bytes;
  const codec::ConstBytes frame{wire + slot::check_bytes, static_cast<std::size_t>(length - slot::check_bytes)};
  std::uint64_t check = 0;
  std::memcpy(&check, wire, sizeof check);
  return codec::checksum(frame) == check ? codec::decode(frame, data) : codec::Error::damaged;
}

}  // namespace

PieceCoder::PieceCoder(std::int64_t longest_bytes, MPI_Comm comm, const CodingTerms& terms) : terms_(terms) {
  if (longest_bytes > 0) frame_.resize(codec::bound(static_cast<std::size_t>(longest_bytes)));
  std::memcpy(&comm_key_, &comm, std::min(sizeof comm_key_, sizeof comm));
}

int PieceCoder::encode(std::byte* slot, std::span<const std::byte> data, bool last, const Binding& binding) {
  const std::int64_t before_ns = processor_ns();
  // Plans depend on the length. Last pieces have many lengths, so those of similar length share a plan.
  const codec::Channel channel{comm_key_ ^ binding.stream << 56, last ? std::bit_ceil(data.size()) : data.size(), 0};
  codec::Encoder& encoder = encoder_of_thread(terms_.codecs);
  if (terms_.wire_bytes_per_s != nullptr) encoder.set_wire_bytes_per_s(terms_.wire_bytes_per_s());
  const std::uint64_t plans = encoder.statistics().plans;
  const bool stores = terms_.judges_alone && policy_.pauses();
  const codec::Frame frame = stores ? codec::encode(data, {.codec = codec::Id::stored}, frame_)
                                    : encoder.encode(channel, data, frame_, binding.element);
  put(frame, data, frame_, slot);
  if (terms_.damage_for_test != nullptr) terms_.damage_for_test(wire_of(slot));
  // Plans become ever rarer, so frames are judged by what they take without them.
  if (terms_.judges_alone && !stores && encoder.statistics().plans == plans)
    judge(data.size(), frame.bytes, processor_ns() - before_ns);
  ++collective_coding.pieces;
  collective_coding.encoded += frame.bytes < data.size() ? 1 : 0;
  collective_coding.bytes += static_cast<std::int64_t>(data.size());
  collective_coding.frame_bytes += static_cast<std::int64_t>(frame.bytes);
  collective_coding.encode_ns += processor_ns() - before_ns;
  return MPI_SUCCESS;
}

void PieceCoder::judge(std::size_t bytes, std::size_t frame_bytes, std::int64_t coding_ns) {
  const auto saved = static_cast<double>(bytes) - static_cast<double>(frame_bytes);
  const double decoding_ns = decoding_pace.ns_for(static_cast<std::int64_t>(bytes));
  policy_.learn(saved / framing_state.share_bytes_per_s, 1e-9 * (static_cast<double>(coding_ns) + decoding_ns));
}

int PieceCoder::decode(std::span<std::byte> data, const std::byte* slot, MPI_Comm comm, int from) const {
  const std::int64_t before_ns = processor_ns();
  const codec::Error error = decode_checked(data, slot);
  collective_coding.decode_ns += processor_ns() - before_ns;
  collective_coding.decoded_bytes += static_cast<std::int64_t>(data.size());
  collective_coding.decoded_frame_bytes += slot::frame_length(slot);
  if (error == codec::Error::none) return MPI_SUCCESS;
  if (terms_.report_damage == nullptr) return MPI_ERR_OTHER;
  return terms_.report_damage(comm, "rank " + std::to_string(from) + " in a collective", error);
}

}  // namespace antiphon::mpi
