// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// The packets, as docs/reference/multicast-packets.md has them. All numbers are big-endian.
namespace antiphon::multicast {

enum class Type : std::uint8_t {
  data = 1,       ///< a piece of a message
  ack = 2,        ///< how far members are with senders' packets
  nack = 3,       ///< what a member misses, or whether the sender is alive
  heartbeat = 4,  ///< how far a sender is
  lost = 5,       ///< a member does not answer any more
  probe = 6,      ///< nothing but itself
  receipt = 7,    ///< one packet has come (paper 1's protocol)
};

constexpr std::uint16_t magic = 0x414D;
constexpr std::uint8_t packet_version = 1;
constexpr std::uint16_t to_all = 0xFFFF;
constexpr std::size_t head_bytes = 24;
constexpr std::size_t tag_bytes = 8;
constexpr std::size_t data_bytes = 24;  ///< of a data packet's fields before its payload
constexpr std::size_t data_overhead = head_bytes + data_bytes + tag_bytes;
constexpr std::size_t most_entries = 128;  ///< of an ack or nack

/// What every packet begins with.
struct Head {
  Type type = Type::data;
  std::uint16_t from = 0;
  std::uint16_t to = to_all;
  std::uint64_t session = 0;
  std::uint64_t counter = 0;
  bool operator==(const Head&) const = default;
};

struct Data {
  static constexpr std::uint8_t ack_wanted = 1, again = 2;
  std::uint32_t position = 0;  ///< of the packet among all data packets of its sender
  std::uint32_t sequence = 0;  ///< of the message
  std::uint32_t packet = 0;    ///< of the message
  std::uint8_t flags = 0;
  std::uint64_t message_bytes = 0;
  bool operator==(const Data&) const = default;
};

struct Ack {
  static constexpr std::uint8_t direct = 1;  ///< the member's own state, not that of its part of the tree
  struct Entry {
    std::uint16_t sender = 0;
    std::uint32_t upto = 0;
    bool operator==(const Entry&) const = default;
  };
  std::uint8_t flags = 0;
  std::uint32_t echo = 0;  ///< of the heartbeat that asked; 0: none did
  std::vector<Entry> entries;
  bool operator==(const Ack&) const = default;
};

struct Nack {
  static constexpr std::uint8_t alive = 1;  ///< answer, even if there is nothing to repair
  struct Range {
    std::uint32_t first = 0, packets = 0;
    bool operator==(const Range&) const = default;
  };
  std::uint8_t flags = 0;
  std::uint32_t upto = 0;  ///< all before this one have come
  std::vector<Range> ranges;
  bool operator==(const Nack&) const = default;
};

struct Heartbeat {
  static constexpr std::uint8_t ack_wanted = 1, direct = 2;
  std::uint8_t flags = 0;
  std::uint32_t id = 0;
  std::uint32_t sent = 0;  ///< all before this one have been sent
  bool operator==(const Heartbeat&) const = default;
};

struct Lost {
  std::uint16_t member = 0;
  bool operator==(const Lost&) const = default;
};

struct Probe {
  std::uint32_t run = 0, index = 0, packets = 0;
  bool operator==(const Probe&) const = default;
};

struct Receipt {
  std::uint32_t position = 0, upto = 0;
  bool operator==(const Receipt&) const = default;
};

/// The head, if these bytes can be a packet at all (magic, version, a known type, long enough). The tag is not looked
/// at.
[[nodiscard]] std::optional<Head> parse_head(std::span<const std::byte> packet);
/// What lies between head and tag.
[[nodiscard]] inline std::span<const std::byte> body_of(std::span<const std::byte> packet) {
  return packet.subspan(head_bytes, packet.size() - head_bytes - tag_bytes);
}
[[nodiscard]] std::uint64_t tag_of(std::span<const std::byte> packet);

void put_head(std::byte* to, const Head& head);
void put_data(std::byte* to, const Data& data);

/// Bodies; nothing for what cannot be one. Lengths must be exact; reserved bytes are not looked at.
[[nodiscard]] std::optional<Data> parse_data(
    std::span<const std::byte> body);  ///< the payload is body.subspan(data_bytes)
[[nodiscard]] std::optional<Ack> parse_ack(std::span<const std::byte> body);
[[nodiscard]] std::optional<Nack> parse_nack(std::span<const std::byte> body);
[[nodiscard]] std::optional<Heartbeat> parse_heartbeat(std::span<const std::byte> body);
[[nodiscard]] std::optional<Lost> parse_lost(std::span<const std::byte> body);
[[nodiscard]] std::optional<Probe> parse_probe(std::span<const std::byte> body);  ///< may be followed by anything
[[nodiscard]] std::optional<Receipt> parse_receipt(std::span<const std::byte> body);

[[nodiscard]] std::vector<std::byte> body(const Ack& ack);
[[nodiscard]] std::vector<std::byte> body(const Nack& nack);
[[nodiscard]] std::vector<std::byte> body(const Heartbeat& heartbeat);
[[nodiscard]] std::vector<std::byte> body(const Lost& lost);
[[nodiscard]] std::vector<std::byte> body(const Probe& probe, std::size_t filler_bytes);
[[nodiscard]] std::vector<std::byte> body(const Receipt& receipt);

}  // namespace antiphon::multicast
