// SPDX-License-Identifier: Apache-2.0
// A packet on its way through a cable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace antiphon::cables {

/// What the kernel puts before each frame of a tap interface (struct virtio_net_hdr).
constexpr std::size_t header_bytes = 10;
/// The longest frame that the kernel gives at once, with its header.
constexpr std::size_t longest_bytes = header_bytes + 14 + 65536;

/// A frame with the kernel's header before it. A frame may be longer than the link's: the next interface cuts it.
class Packet {
 public:
  explicit Packet(std::span<const std::byte> data) : data_(data.begin(), data.end()) {}

  [[nodiscard]] std::span<const std::byte> data() const { return data_; }
  /// Returns the bytes of all frames that it is cut into, each with headers of its own.
  [[nodiscard]] std::int64_t wire_bytes() const;
  /// Sets the mark "congestion experienced" (RFC 3168), and tells whether the packet may carry it.
  bool mark();

 private:
  [[nodiscard]] std::uint16_t header_field(std::size_t offset) const;

  std::vector<std::byte> data_;
};

}  // namespace antiphon::cables
