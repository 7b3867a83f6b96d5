// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// The packets of docs/reference/multicast-packets.md. All numbers are big-endian.
namespace antiphon::multicast {

enum class Type : std::uint8_t {
  data = 1,       ///< a piece of a message
  ack = 2,        ///< how far members have received the packets of senders
  nack = 3,       ///< what a member misses, or a question whether the sender is alive
  heartbeat = 4,  ///< how far a sender has sent
  lost = 5,       ///< a member that does not answer
  probe = 6,      ///< carries nothing
  receipt = 7,    ///< one packet has come (paper 1's protocol)
};

constexpr std::uint16_t magic = 0x414D;
constexpr std::uint8_t packet_version = 1;
constexpr std::uint16_t to_all = 0xFFFF;
constexpr std::size_t head_bytes = 24;
constexpr std::size_t tag_bytes = 8;
constexpr std::size_t data_bytes = 24;  ///< fields of a data packet before its payload
constexpr std::size_t data_overhead = head_bytes + data_bytes + tag_bytes;
constexpr std::size_t most_entries = 128;  ///< in one ack or nack

/// The first bytes of every packet.
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
  std::uint32_t packet = 0;    ///< number within the message
  std::uint8_t flags = 0;
  std::uint64_t message_bytes = 0;
  bool operator==(const Data&) const = default;
};

struct Ack {
  static constexpr std::uint8_t direct = 1;  ///< reports the member's own state, not that of its part of the tree
  struct Entry {
    std::uint16_t sender = 0;
    std::uint32_t upto = 0;
    bool operator==(const Entry&) const = default;
  };
  std::uint8_t flags = 0;
  std::uint32_t echo = 0;  ///< id of the heartbeat that asked; 0: none did
  std::vector<Entry> entries;
  bool operator==(const Ack&) const = default;
};

struct Nack {
  static constexpr std::uint8_t alive = 1;  ///< requires an answer, even if there is nothing to repair
  struct Range {
    std::uint32_t first = 0, packets = 0;
    bool operator==(const Range&) const = default;
  };
  std::uint8_t flags = 0;
  std::uint32_t upto = 0;  ///< all packets before this one have come
  std::vector<Range> ranges;
  bool operator==(const Nack&) const = default;
};

struct Heartbeat {
  static constexpr std::uint8_t ack_wanted = 1, direct = 2;
  std::uint8_t flags = 0;
  std::uint32_t id = 0;
  std::uint32_t sent = 0;  ///< all packets before this one have been sent
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

/// Returns the head if these bytes can be a packet (magic, version, a known type, long enough). It does not check the
/// tag.
[[nodiscard]] std::optional<Head> parse_head(std::span<const std::byte> packet);
/// Returns what lies between head and tag.
[[nodiscard]] inline std::span<const std::byte> body_of(std::span<const std::byte> packet) {
  return packet.subspan(head_bytes, packet.size() - head_bytes - tag_bytes);
}
[[nodiscard]] std::uint64_t tag_of(std::span<const std::byte> packet);

void put_head(std::byte* to, const Head& head);
void put_data(std::byte* to, const Data& data);

/// Parses a body; returns nothing if it is invalid. Lengths must be exact; reserved bytes are ignored.
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
