// SPDX-License-Identifier: Apache-2.0
#include "multicast/packet.hpp"

#include "multicast/bytes.hpp"

namespace antiphon::multicast {

namespace {

/// Returns the value if the reader was asked for exactly the bytes that it has.
template <typename T>
std::optional<T> whole(const Reader& reader, T value) {
  return reader.ok() && reader.left() == 0 ? std::optional<T>(std::move(value)) : std::nullopt;
}

}  // namespace

std::optional<Head> parse_head(std::span<const std::byte> packet) {
  if (packet.size() < head_bytes + tag_bytes) return std::nullopt;
  Reader reader(packet);
  if (reader.number<std::uint16_t>() != magic || reader.number<std::uint8_t>() != packet_version) return std::nullopt;
  const auto type = reader.number<std::uint8_t>();
  if (type < static_cast<std::uint8_t>(Type::data) || type > static_cast<std::uint8_t>(Type::receipt))
    return std::nullopt;
  Head head;
  head.type = static_cast<Type>(type);
  head.from = reader.number<std::uint16_t>();
  head.to = reader.number<std::uint16_t>();
  head.session = reader.number<std::uint64_t>();
  head.counter = reader.number<std::uint64_t>();
  return head;
}

std::uint64_t tag_of(std::span<const std::byte> packet) {
  return get<std::uint64_t>(packet.data() + packet.size() - tag_bytes);
}

void put_head(std::byte* to, const Head& head) {
  put(to, magic);
  put(to + 2, packet_version);
  put(to + 3, static_cast<std::uint8_t>(head.type));
  put(to + 4, head.from);
  put(to + 6, head.to);
  put(to + 8, head.session);
  put(to + 16, head.counter);
}

void put_data(std::byte* to, const Data& data) {
  put(to, data.position);
  put(to + 4, data.sequence);
  put(to + 8, data.packet);
  put(to + 12, static_cast<std::uint32_t>(data.flags) << 24);
  put(to + 16, data.message_bytes);
}

std::optional<Data> parse_data(std::span<const std::byte> body) {
  if (body.size() < data_bytes) return std::nullopt;
  Data data;
  data.position = get<std::uint32_t>(body.data());
  data.sequence = get<std::uint32_t>(body.data() + 4);
  data.packet = get<std::uint32_t>(body.data() + 8);
  data.flags = get<std::uint8_t>(body.data() + 12);
  data.message_bytes = get<std::uint64_t>(body.data() + 16);
  return data;
}

std::optional<Ack> parse_ack(std::span<const std::byte> body) {
  Reader reader(body);
  Ack ack;
  ack.flags = reader.number<std::uint8_t>();
  reader.number<std::uint8_t>();
  const auto count = reader.number<std::uint16_t>();
  ack.echo = reader.number<std::uint32_t>();
  if (count > most_entries || reader.left() != count * 8U) return std::nullopt;
  ack.entries.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    Ack::Entry entry;
    entry.sender = reader.number<std::uint16_t>();
    reader.number<std::uint16_t>();
    entry.upto = reader.number<std::uint32_t>();
    ack.entries.push_back(entry);
  }
  return whole(reader, std::move(ack));
}

std::optional<Nack> parse_nack(std::span<const std::byte> body) {
  Reader reader(body);
  Nack nack;
  nack.flags = reader.number<std::uint8_t>();
  reader.number<std::uint8_t>();
  const auto count = reader.number<std::uint16_t>();
  nack.upto = reader.number<std::uint32_t>();
  if (count > most_entries || reader.left() != count * 8U) return std::nullopt;
  nack.ranges.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    Nack::Range range;
    range.first = reader.number<std::uint32_t>();
    range.packets = reader.number<std::uint32_t>();
    nack.ranges.push_back(range);
  }
  return whole(reader, std::move(nack));
}

std::optional<Heartbeat> parse_heartbeat(std::span<const std::byte> body) {
  Reader reader(body);
  Heartbeat heartbeat;
  heartbeat.flags = reader.number<std::uint8_t>();
  reader.raw(3);
  heartbeat.id = reader.number<std::uint32_t>();
  heartbeat.sent = reader.number<std::uint32_t>();
  return whole(reader, heartbeat);
}

std::optional<Lost> parse_lost(std::span<const std::byte> body) {
  Reader reader(body);
  Lost lost{reader.number<std::uint16_t>()};
  reader.raw(2);
  return whole(reader, lost);
}

std::optional<Probe> parse_probe(std::span<const std::byte> body) {
  Reader reader(body);
  Probe probe;
  probe.run = reader.number<std::uint32_t>();
  probe.index = reader.number<std::uint32_t>();
  probe.packets = reader.number<std::uint32_t>();
  return reader.ok() ? std::optional<Probe>(probe) : std::nullopt;
}

std::optional<Receipt> parse_receipt(std::span<const std::byte> body) {
  Reader reader(body);
  Receipt receipt;
  receipt.position = reader.number<std::uint32_t>();
  receipt.upto = reader.number<std::uint32_t>();
  return whole(reader, receipt);
}

std::vector<std::byte> body(const Ack& ack) {
  Writer writer;
  writer.number(ack.flags);
  writer.number(std::uint8_t{0});
  writer.number(static_cast<std::uint16_t>(ack.entries.size()));
  writer.number(ack.echo);
  for (const auto& entry : ack.entries) {
    writer.number(entry.sender);
    writer.number(std::uint16_t{0});
    writer.number(entry.upto);
  }
  return writer.take();
}

std::vector<std::byte> body(const Nack& nack) {
  Writer writer;
  writer.number(nack.flags);
  writer.number(std::uint8_t{0});
  writer.number(static_cast<std::uint16_t>(nack.ranges.size()));
  writer.number(nack.upto);
  for (const auto& range : nack.ranges) {
    writer.number(range.first);
    writer.number(range.packets);
  }
  return writer.take();
}

std::vector<std::byte> body(const Heartbeat& heartbeat) {
  Writer writer;
  writer.number(static_cast<std::uint32_t>(heartbeat.flags) << 24);
  writer.number(heartbeat.id);
  writer.number(heartbeat.sent);
  return writer.take();
}

std::vector<std::byte> body(const Lost& lost) {
  Writer writer;
  writer.number(lost.member);
  writer.number(std::uint16_t{0});
  return writer.take();
}

std::vector<std::byte> body(const Probe& probe, std::size_t filler_bytes) {
  Writer writer;
  writer.number(probe.run);
  writer.number(probe.index);
  writer.number(probe.packets);
  auto bytes = writer.take();
  bytes.resize(bytes.size() + filler_bytes);
  return bytes;
}

std::vector<std::byte> body(const Receipt& receipt) {
  Writer writer;
  writer.number(receipt.position);
  writer.number(receipt.upto);
  return writer.take();
}

}  // namespace antiphon::multicast
