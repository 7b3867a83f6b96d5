// SPDX-License-Identifier: Apache-2.0
// The lab's cables: how a port queues, marks and delays packets.
#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "antiphon/error.hpp"
#include "cables/plan.hpp"
#include "cables/queue.hpp"

namespace cables = antiphon::cables;

namespace {

constexpr std::size_t ethernet_bytes = 14, ip_bytes = 20;

/// Returns an IPv4 packet of so many bytes on the wire, whose header has this ECN field and a right checksum.
std::vector<std::byte> ipv4_frame(std::size_t frame_bytes, unsigned ecn) {
  std::vector<std::byte> data(cables::header_bytes + frame_bytes);
  data[cables::header_bytes + 12] = std::byte{0x08};
  std::byte* const ip = data.data() + cables::header_bytes + ethernet_bytes;
  ip[0] = std::byte{0x45};
  ip[1] = static_cast<std::byte>(0x08 << 2 | ecn);
  ip[8] = std::byte{64};
  ip[9] = std::byte{6};
  unsigned sum = 0;
  for (std::size_t i = 0; i < ip_bytes; i += 2)
    sum += std::to_integer<unsigned>(ip[i]) << 8 | std::to_integer<unsigned>(ip[i + 1]);
  sum = ~((sum & 0xFFFF) + (sum >> 16)) & 0xFFFF;
  ip[10] = static_cast<std::byte>(sum >> 8);
  ip[11] = static_cast<std::byte>(sum & 0xFF);
  return data;
}

/// The sum over an IPv4 header is 0xFFFF where its checksum is right.
unsigned header_sum(const cables::Packet& packet) {
  const auto ip = packet.data().subspan(cables::header_bytes + ethernet_bytes, ip_bytes);
  unsigned sum = 0;
  for (std::size_t i = 0; i < ip_bytes; i += 2)
    sum += std::to_integer<unsigned>(ip[i]) << 8 | std::to_integer<unsigned>(ip[i + 1]);
  return (sum & 0xFFFF) + (sum >> 16);
}

unsigned ecn_of(const cables::Packet& packet) {
  return std::to_integer<unsigned>(packet.data()[cables::header_bytes + ethernet_bytes + 1]) & 3;
}

cables::Packet packet_of(std::size_t frame_bytes, unsigned ecn = 0) {
  return cables::Packet(ipv4_frame(frame_bytes, ecn));
}

/// Returns when each packet comes out of the queue, asked as often as the queue says.
std::vector<std::int64_t> departures(cables::Queue& queue) {
  std::vector<std::int64_t> times;
  while (queue.due_ns() != cables::Queue::never) {
    const std::int64_t now = queue.due_ns();
    while (queue.leave(now)) times.push_back(now);
  }
  return times;
}

// 80 Mb/s: a byte takes 100 ns.
constexpr cables::Terms slow{.bits_per_s = 80'000'000, .burst_bytes = 1000, .buffer_bytes = 10'000};

}  // namespace

TEST_CASE("cables: a port sends its burst at once, then at its rate") {
  cables::Queue queue(slow, nullptr);
  for (int i = 0; i < 5; ++i) queue.arrive(packet_of(500), 0);
  CHECK(departures(queue) == std::vector<std::int64_t>{0, 0, 50'000, 100'000, 150'000});
}

TEST_CASE("cables: a rested port has no more than its burst") {
  cables::Queue queue(slow, nullptr);
  queue.arrive(packet_of(500), 0);
  CHECK(departures(queue).size() == 1);
  for (int i = 0; i < 4; ++i) queue.arrive(packet_of(500), 1'000'000'000);
  CHECK(departures(queue) == std::vector<std::int64_t>{1'000'000'000, 1'000'000'000, 1'000'050'000, 1'000'100'000});
}

TEST_CASE("cables: a packet that is longer than the burst takes its time, too") {
  cables::Queue queue(slow, nullptr);
  for (int i = 0; i < 3; ++i) queue.arrive(packet_of(3000), 0);
  // The first goes with a full bucket and leaves it 2,000 bytes in debt. The next needs 3,000 more.
  CHECK(departures(queue) == std::vector<std::int64_t>{0, 300'000, 600'000});
}

TEST_CASE("cables: who comes late to a queue finds what would have left in time") {
  cables::Queue late(slow, nullptr), prompt(slow, nullptr);
  for (cables::Queue* queue : {&late, &prompt})
    for (int i = 0; i < 4; ++i) queue->arrive(packet_of(1000), 0);
  CHECK(departures(prompt) == std::vector<std::int64_t>{0, 100'000, 200'000, 300'000});
  int out = 0;
  while (late.leave(250'000)) ++out;
  CHECK(out == 3);
  CHECK(late.due_ns() == 300'000);
}

TEST_CASE("cables: latency adds to each packet's time and not to the rate") {
  cables::Terms terms = slow;
  terms.latency_ns = 2'000'000;
  cables::Queue queue(terms, nullptr);
  for (int i = 0; i < 3; ++i) queue.arrive(packet_of(1000), 0);
  CHECK(departures(queue) == std::vector<std::int64_t>{2'000'000, 2'100'000, 2'200'000});

  cables::Queue unlimited(cables::Terms{.latency_ns = 7}, nullptr);
  for (int i = 0; i < 3; ++i) unlimited.arrive(packet_of(1000), 5);
  CHECK(departures(unlimited) == std::vector<std::int64_t>{12, 12, 12});
}

TEST_CASE("cables: a full port drops packets, and takes more when some have left") {
  cables::Queue queue(slow, nullptr);
  for (int i = 0; i < 20; ++i) queue.arrive(packet_of(1000), 0);
  CHECK(queue.counts().dropped == 9);  // one has left with the burst, ten wait
  CHECK(queue.counts().longest_bytes == 10'000);
  queue.arrive(packet_of(1000), 150'000);
  CHECK(queue.counts().dropped == 9);
  CHECK(departures(queue).size() == 12);
  CHECK(queue.counts().sent == 12);
}

TEST_CASE("cables: ports that share a buffer each get as much as is still free") {
  cables::Pool pool{12'000};
  cables::Queue one(slow, &pool), other(slow, &pool);
  for (int i = 0; i < 50; ++i) one.arrive(packet_of(1000), 0);
  CHECK(one.counts().longest_bytes == 6'000);  // half, since then as much is free
  for (int i = 0; i < 50; ++i) other.arrive(packet_of(1000), 0);
  CHECK(other.counts().longest_bytes == 3'000);
  CHECK(pool.used_bytes == 9'000);
  departures(one);
  departures(other);
  CHECK(pool.used_bytes == 0);
}

TEST_CASE("cables: packets that find a long queue are marked where they may be") {
  cables::Terms terms = slow;
  terms.mark_bytes = 2000;
  cables::Queue queue(terms, nullptr);
  for (int i = 0; i < 3; ++i) queue.arrive(packet_of(1000, 2), 0);  // the first leaves at once
  CHECK(queue.counts().marked == 0);
  queue.arrive(packet_of(1000, 2), 0);
  queue.arrive(packet_of(1000, 1), 0);
  queue.arrive(packet_of(1000, 0), 0);  // its sender does not know marks
  CHECK(queue.counts().marked == 2);
  std::vector<unsigned> fields;
  while (queue.due_ns() != cables::Queue::never) {
    const auto packet = queue.leave(queue.due_ns());
    if (!packet) continue;
    CHECK(header_sum(*packet) == 0xFFFF);
    fields.push_back(ecn_of(*packet));
  }
  CHECK(fields == std::vector<unsigned>{2, 2, 2, 3, 3, 0});
}

TEST_CASE("cables: only whole IPv4 packets are marked") {
  std::vector<std::byte> frame = ipv4_frame(100, 1);
  frame[cables::header_bytes + 12] = std::byte{0x86};
  CHECK_FALSE(cables::Packet(frame).mark());
  frame = ipv4_frame(100, 1);
  frame.resize(cables::header_bytes + ethernet_bytes + ip_bytes - 1);
  CHECK_FALSE(cables::Packet(frame).mark());
}

TEST_CASE("cables: a frame that will be cut counts the headers of all its parts") {
  std::vector<std::byte> frame = ipv4_frame(54 + 2500, 0);
  CHECK(cables::Packet(frame).wire_bytes() == 2554);
  const std::uint16_t headers = 54, segment = 1000;
  frame[1] = std::byte{1};  // TCP over IPv4
  std::memcpy(frame.data() + 2, &headers, sizeof headers);
  std::memcpy(frame.data() + 4, &segment, sizeof segment);
  CHECK(cables::Packet(frame).wire_bytes() == 2554 + 2 * 54);
}

TEST_CASE("cables: a plan says what is wrong with it") {
  const std::string direction = R"({"name": "a", "from": 3, "to": 4, "bits_per_s": 8, "pool": 0, "latency_ns": 5})";
  const cables::Plan plan =
      cables::Plan::parse(R"({"pools_bytes": [99], "counts_file": "", "directions": [)" + direction + "]}");
  CHECK(plan.pools_bytes == std::vector<std::int64_t>{99});
  CHECK(plan.directions.front().to == 4);
  CHECK(plan.directions.front().terms.latency_ns == 5);
  CHECK(plan.directions.front().pool == 0);
  for (const char* wrong :
       {R"({"pools_bytes": [], "counts_file": "", "directions": [{"name": "a", "from": 3, "to": 4, "pool": 0}]})",
        R"({"pools_bytes": [0], "counts_file": "", "directions": []})",
        R"({"pools_bytes": [], "counts_file": "", "directions": [{"name": "a", "from": -1, "to": 4}]})",
        R"({"pools_bytes": [], "counts_file": "", "directions": [], "speed": 1})", "{", ""})
    CHECK_THROWS_AS(cables::Plan::parse(wrong), antiphon::Error);
}
