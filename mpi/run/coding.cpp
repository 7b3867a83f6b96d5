// SPDX-License-Identifier: Apache-2.0
#include "run/coding.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

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
    return options;
  }());
  return encoder;
}

void put(const codec::Frame& frame, std::span<const std::byte> data, const std::vector<std::byte>& room,
         std::byte* slot) {
  slot::set_frame_length(slot, static_cast<std::int64_t>(frame.bytes));
  std::byte* const body = slot + slot::length_bytes;
  if (!frame.in_place) {
    std::memcpy(body, room.data(), frame.bytes);
    return;
  }
  std::memcpy(body, frame.head.data(), frame.head.size());
  if (!data.empty()) std::memcpy(body + frame.head.size(), data.data(), data.size());
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
  const codec::Frame frame = encoder.encode(channel, data, frame_, binding.element);
  put(frame, data, frame_, slot);
  ++collective_coding.pieces;
  collective_coding.encoded += frame.bytes < data.size() ? 1 : 0;
  collective_coding.bytes += static_cast<std::int64_t>(data.size());
  collective_coding.frame_bytes += static_cast<std::int64_t>(frame.bytes);
  collective_coding.encode_ns += processor_ns() - before_ns;
  return MPI_SUCCESS;
}

int PieceCoder::decode(std::span<std::byte> data, const std::byte* slot) {
  const std::int64_t length = slot::frame_length(slot);
  if (!slot::holds(static_cast<std::int64_t>(data.size()) + encoded_overhead_bytes, length)) return MPI_ERR_TRUNCATE;
  const std::int64_t before_ns = processor_ns();
  const codec::Error error = codec::decode({slot + slot::length_bytes, static_cast<std::size_t>(length)}, data);
  collective_coding.decode_ns += processor_ns() - before_ns;
  return error == codec::Error::none ? MPI_SUCCESS : MPI_ERR_OTHER;
}

}  // namespace antiphon::mpi
