// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>

#include "antiphon/multicast.hpp"
#include "multicast/bytes.hpp"
#include "multicast/engine.hpp"
#include "multicast/packet.hpp"

/// Properties that hold for any packet and any description.
namespace antiphon::fuzz {

namespace multicast_detail {

using namespace antiphon::multicast;

/// What can be read is written as the same bytes, except reserved ones, and so reads as the same value.
template <typename T>
bool same_again(const std::optional<T>& parsed, std::optional<T> (*parse)(std::span<const std::byte>)) {
  return !parsed || parse(body(*parsed)) == parsed;
}

/// A wire that delivers its packets once and discards what is sent.
class OneShot final : public Wire {
 public:
  std::int64_t now_ns() override { return now_ += 100'000; }
  std::size_t send(std::span<const Datagram> packets) override { return packets.size(); }
  std::span<const std::span<const std::byte>> receive() override {
    const std::size_t count = full_ ? 1 : 0;
    full_ = false;
    return {&packet_, count};
  }
  void wait(std::int64_t) override {}
  void bring(std::span<const std::byte> packet) {
    packet_ = packet;
    full_ = true;
  }

 private:
  std::int64_t now_ = 1;
  bool full_ = false;
  std::span<const std::byte> packet_;
};

inline Description description() {
  Place place;
  place.address.family = 4;
  place.address.bytes = {10, 0, 0, 1};
  place.address.port = {1, 1};
  place.receive_buffer = {0, 2, 0, 0};
  Description d;
  d.members.assign(3, place);
  d.group.family = 4;
  d.group.bytes = {239, 192, 0, 1};
  d.group.port = {1, 1};
  return d;
}

/// An engine that awaits a message, and sends one, gets packets with the contents `bodies`, correctly sealed, as from a
/// faulty peer. It must never write outside its buffer, read outside a packet, or report an incomplete message as done.
inline bool engine_survives(std::string_view input, Strategy strategy) {
  Description d = description();
  d.options.strategy = strategy;
  OneShot wire;
  Engine engine(wire, d, 0, {});
  const Seal seal(d.key);
  std::vector<std::byte> guarded(64 + 3000 + 64, std::byte{0x5A}), data(5000, std::byte{1});
  const Part part{0, std::span(guarded).subspan(64, 3000)};
  engine.receive(1, 3000, {&part, 1});
  engine.send(data, {});
  std::uint64_t counter = 0;
  while (input.size() >= 2) {
    const auto type = static_cast<Type>(1 + static_cast<unsigned char>(input[0]) % 7);
    const std::size_t length = std::min<std::size_t>(static_cast<unsigned char>(input[1]) * 6, input.size() - 2);
    std::vector<std::byte> packet(head_bytes + length + tag_bytes);
    put_head(packet.data(), Head{type, 1, 0, 0, ++counter});
    std::memcpy(packet.data() + head_bytes, input.data() + 2, length);
    const auto before = std::span(packet).first(head_bytes + length);
    put(packet.data() + before.size(), seal.tag(before, {}));
    input.remove_prefix(2 + length);
    wire.bring(packet);
    engine.progress();
    engine.progress();
  }
  const auto untouched = [](std::span<const std::byte> edge) {
    return std::all_of(edge.begin(), edge.end(), [](std::byte b) { return b == std::byte{0x5A}; });
  };
  return untouched(std::span(guarded).first(64)) && untouched(std::span(guarded).last(64)) &&
         engine.statistics().forged == 0;
}

}  // namespace multicast_detail

inline bool multicast_packet(std::string_view text) {
  using namespace antiphon::multicast;
  const auto bytes = std::as_bytes(std::span(text));
  (void)parse_head(bytes);
  if (const auto data = parse_data(bytes)) {
    std::array<std::byte, data_bytes> again;
    put_data(again.data(), *data);
    if (parse_data(again) != data) return false;
  }
  using multicast_detail::same_again;
  if (!same_again(parse_ack(bytes), parse_ack) || !same_again(parse_nack(bytes), parse_nack) ||
      !same_again(parse_heartbeat(bytes), parse_heartbeat) || !same_again(parse_lost(bytes), parse_lost) ||
      !same_again(parse_receipt(bytes), parse_receipt)) {
    return false;
  }
  const auto probe = parse_probe(bytes);
  if (probe && parse_probe(body(*probe, 3)) != probe) return false;
  return multicast_detail::engine_survives(text, Strategy::nack) &&
         multicast_detail::engine_survives(text, Strategy::ack);
}

inline bool multicast_description(std::string_view text) {
  using namespace antiphon::multicast;
  try {
    const Description d = Description::unpack(std::as_bytes(std::span(text)));
    return Description::unpack(d.pack()).pack() == d.pack();
  } catch (const FormatError&) {
    return true;
  }
}

}  // namespace antiphon::fuzz
