// SPDX-License-Identifier: Apache-2.0
#include "multicast/core.hpp"

#include "multicast/bytes.hpp"

namespace antiphon::multicast {

namespace {

/// What a packet takes of a socket's buffer on Linux besides its own bytes: the kernel's structures and the unused rest
/// of the memory block. A full Ethernet frame takes 2,304 bytes in all.
constexpr int kernel_overhead_bytes = 832;
/// A larger window brings nothing: this one is 1.4 MB in transit, a millisecond at 10 Gb/s.
constexpr int most_window = 1024;
/// A time without a reading of the clock counts for at most this part of the time after which a silent member is lost.
constexpr int pause_divisor = 4;

int window_of(const Description& description) {
  if (description.options.window_packets > 0) return description.options.window_packets;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Place& member : description.members) {
    least = std::min<std::int64_t>(
        least, get<std::uint32_t>(reinterpret_cast<const std::byte*>(member.receive_buffer.data())));
  }
  // A quarter of the buffer is left to other senders and to control packets.
  const std::int64_t packets = least * 3 / 4 / (description.options.packet_bytes + kernel_overhead_bytes);
  return static_cast<int>(std::clamp<std::int64_t>(packets, 8, most_window));
}

int checked(int index, const Description& description) {
  description.check();
  if (index < 0 || static_cast<std::size_t>(index) >= description.members.size())
    throw InvalidArgument("multicast group: no such member");
  return index;
}

}  // namespace

Core::Core(Wire& wire, const Description& d, int i, const LocalOptions& local)
    : description(d), index(checked(i, d)), size(static_cast<int>(d.members.size())),
      payload_bytes(d.options.packet_bytes - static_cast<int>(data_overhead)), window_packets(window_of(d)),
      courier(wire, description, index, statistics), out(payload_bytes, window_packets, local.copy_bytes),
      in(static_cast<std::size_t>(size),
         InStream(payload_bytes, window_packets, static_cast<std::size_t>(window_packets))),
      heard_ns(static_cast<std::size_t>(size), 0), random(d.session + static_cast<std::uint64_t>(i)),
      now_ns(wire.now_ns()) {}

void Core::read_clock(Wire& wire) {
  const std::int64_t wire_ns = wire.now_ns();
  const std::int64_t latest_ns = now_ns + options().lost_after_ns / pause_divisor;
  paused_ns = std::max(paused_ns, wire_ns - latest_ns);
  now_ns = wire_ns - paused_ns;
}

void Core::fail(Failure::Kind kind, int member, const std::string& text) {
  if (failure) return;
  failure = Failure{kind, member, text};
  // Members that wait for this one learn of the failure from these packets. If all are lost, their own timers expire.
  const auto lost = kind == Failure::Kind::member_lost ? member : index;
  for (int i = 0; i < 3; ++i) courier.post(-1, Type::lost, body(Lost{static_cast<std::uint16_t>(lost)}));
}

bool Core::lose_if_silent(int member, std::int64_t since_ns) {
  const std::int64_t last = std::max(heard_ns[static_cast<std::size_t>(member)], since_ns);
  if (now_ns - last <= options().lost_after_ns) return false;
  const auto seconds = std::to_string(options().lost_after_ns / 1'000'000'000) + '.' +
                       std::to_string(options().lost_after_ns / 100'000'000 % 10);
  fail(Failure::Kind::member_lost, member,
       "multicast: member " + std::to_string(member) + " (" +
           description.members[static_cast<std::size_t>(member)].address.text() + ") has not answered for " + seconds +
           " s\nhint: its process or host is gone, or the network lets nothing through between them");
  return true;
}

std::unique_ptr<Reliability> Reliability::create(Core& core) {
  return core.options().strategy == Strategy::ack ? make_ack_strategy(core) : make_nack_strategy(core);
}

}  // namespace antiphon::multicast
