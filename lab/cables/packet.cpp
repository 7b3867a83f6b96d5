// SPDX-License-Identifier: Apache-2.0
#include "cables/packet.hpp"

#include <cstring>

namespace antiphon::cables {

namespace {

// Fields of struct virtio_net_hdr, in the machine's byte order.
constexpr std::size_t kind_offset = 1, headers_offset = 2, segment_offset = 4;

// An Ethernet header, then an IPv4 header.
constexpr std::size_t type_offset = header_bytes + 12, ip_offset = header_bytes + 14;
constexpr std::size_t ecn_offset = ip_offset + 1, checksum_offset = ip_offset + 10, least_ip_bytes = 20;

unsigned byte_at(std::span<const std::byte> data, std::size_t offset) {
  return std::to_integer<unsigned>(data[offset]);
}

}  // namespace

std::uint16_t Packet::header_field(std::size_t offset) const {
  std::uint16_t value = 0;
  std::memcpy(&value, data_.data() + offset, sizeof value);
  return value;
}

std::int64_t Packet::wire_bytes() const {
  const auto frame_bytes = static_cast<std::int64_t>(data_.size() - header_bytes);
  const std::int64_t headers = header_field(headers_offset), segment = header_field(segment_offset);
  if (byte_at(data_, kind_offset) == 0 || segment == 0 || headers >= frame_bytes) return frame_bytes;
  const std::int64_t frames = (frame_bytes - headers + segment - 1) / segment;
  return frame_bytes + (frames - 1) * headers;
}

bool Packet::mark() {
  constexpr unsigned ipv4_high = 0x08, ipv4_low = 0x00, experienced = 3;
  if (data_.size() < ip_offset + least_ip_bytes) return false;
  if (byte_at(data_, type_offset) != ipv4_high || byte_at(data_, type_offset + 1) != ipv4_low) return false;
  const unsigned before = byte_at(data_, ecn_offset);
  if ((before & experienced) == 0) return false;
  const unsigned after = before | experienced;
  data_[ecn_offset] = static_cast<std::byte>(after);
  // The checksum follows the change of one field (RFC 1624): ~(~HC + ~m + m').
  const unsigned old_sum = byte_at(data_, checksum_offset) << 8 | byte_at(data_, checksum_offset + 1);
  unsigned sum = (~old_sum & 0xFFFFU) + (~before & 0xFFFFU) + after;
  sum = (sum & 0xFFFFU) + (sum >> 16);
  sum = (sum & 0xFFFFU) + (sum >> 16);
  data_[checksum_offset] = static_cast<std::byte>(~sum >> 8 & 0xFFU);
  data_[checksum_offset + 1] = static_cast<std::byte>(~sum & 0xFFU);
  return true;
}

}  // namespace antiphon::cables
