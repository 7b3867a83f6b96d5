// SPDX-License-Identifier: Apache-2.0
// A network in memory with its own clock. A seed determines loss, delay, duplicates and damage, so runs can be
// repeated.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "multicast/bytes.hpp"
#include "multicast/engine.hpp"

namespace multicast_test {

using namespace antiphon::multicast;
using Bytes = std::vector<std::byte>;

struct Conditions {
  double loss = 0, duplicate = 0, damage = 0, delay = 0;
  std::int64_t latency_ns = 40'000, jitter_ns = 5'000, delay_ns = 3'000'000;
  std::int64_t packet_ns = 12'000;  ///< how long each packet occupies its sender's link
  std::size_t inbox = 4096;         ///< packets that a socket holds
};

class Network {
 public:
  Network(int size, std::uint64_t seed, const Conditions& conditions)
      : conditions_(conditions), random_(seed), inboxes_(static_cast<std::size_t>(size)),
        free_ns_(static_cast<std::size_t>(size), 0), dead_(static_cast<std::size_t>(size), false), deaf_(dead_) {}

  [[nodiscard]] std::int64_t now() const { return now_ns_; }
  [[nodiscard]] int size() const { return static_cast<int>(inboxes_.size()); }
  std::uint64_t random(std::uint64_t below) { return random_() % below; }
  bool chance(double probability) { return std::uniform_real_distribution<>(0, 1)(random_) < probability; }
  Conditions& conditions() { return conditions_; }
  void kill(int member) { dead_[static_cast<std::size_t>(member)] = true; }
  /// Makes a switch forget a member: nothing that is sent to all reaches it until it joins again.
  void deafen(int member, bool deaf = true) { deaf_[static_cast<std::size_t>(member)] = deaf; }
  /// All packets sent so far, unchanged, for tests that forge packets.
  [[nodiscard]] const std::vector<Bytes>& seen() const { return seen_; }
  void inject(int to, const Bytes& packet) { arrivals_.emplace(now_ns_, std::pair(to, packet)); }

  bool send(int from, const Datagram& packet) {
    auto& free = free_ns_[static_cast<std::size_t>(from)];
    if (free > now_ns_ + 64 * conditions_.packet_ns) return false;
    free = std::max(free, now_ns_) + conditions_.packet_ns;
    if (dead_[static_cast<std::size_t>(from)]) return true;
    Bytes bytes;
    for (const auto run : {packet.head, packet.payload, packet.tag}) bytes.insert(bytes.end(), run.begin(), run.end());
    if (seen_.size() < 1000) seen_.push_back(bytes);
    for (int to = 0; to < size(); ++to) {
      if (to == from || (packet.to >= 0 && packet.to != to) || (packet.to < 0 && deaf_[static_cast<std::size_t>(to)]))
        continue;
      deliver(to, bytes, free);
      if (chance(conditions_.duplicate)) deliver(to, bytes, free);
    }
    return true;
  }

  bool take(int member, std::vector<Bytes>& packets) {
    auto& inbox = inboxes_[static_cast<std::size_t>(member)];
    packets.clear();
    while (!inbox.empty() && packets.size() < 16) {
      packets.push_back(std::move(inbox.front()));
      inbox.pop_front();
    }
    return !packets.empty();
  }

  /// Moves the clock to the next arrival, or to `most_ns` if that is earlier.
  void advance(std::int64_t most_ns) {
    const std::int64_t next = arrivals_.empty() ? most_ns : std::min(most_ns, arrivals_.begin()->first);
    now_ns_ = std::max(now_ns_ + 1'000, next);  // at least a microsecond, so that packets come in batches
    while (!arrivals_.empty() && arrivals_.begin()->first <= now_ns_) {
      auto& [to, bytes] = arrivals_.begin()->second;
      auto& inbox = inboxes_[static_cast<std::size_t>(to)];
      if (inbox.size() < conditions_.inbox && !dead_[static_cast<std::size_t>(to)]) inbox.push_back(std::move(bytes));
      arrivals_.erase(arrivals_.begin());
    }
  }

 private:
  void deliver(int to, Bytes bytes, std::int64_t leaves_ns) {
    if (chance(conditions_.loss)) return;
    if (chance(conditions_.damage)) bytes[random(bytes.size())] ^= static_cast<std::byte>(1 + random(255));
    std::int64_t at = leaves_ns + conditions_.latency_ns +
                      static_cast<std::int64_t>(random(static_cast<std::uint64_t>(conditions_.jitter_ns) + 1));
    if (chance(conditions_.delay))
      at += static_cast<std::int64_t>(random(static_cast<std::uint64_t>(conditions_.delay_ns) + 1));
    arrivals_.emplace(at, std::pair(to, std::move(bytes)));
  }

  Conditions conditions_;
  std::mt19937_64 random_;
  std::int64_t now_ns_ = 1'000'000;
  std::vector<std::deque<Bytes>> inboxes_;
  std::vector<std::int64_t> free_ns_;
  std::vector<bool> dead_, deaf_;
  std::multimap<std::int64_t, std::pair<int, Bytes>> arrivals_;
  std::vector<Bytes> seen_;
};

class NetworkWire final : public Wire {
 public:
  NetworkWire(Network& network, int index) : network_(network), index_(index) {}
  std::int64_t now_ns() override { return network_.now(); }
  std::size_t send(std::span<const Datagram> packets) override {
    std::size_t sent = 0;
    while (sent < packets.size() && network_.send(index_, packets[sent])) ++sent;
    return sent;
  }
  std::span<const std::span<const std::byte>> receive() override {
    views_.clear();
    network_.take(index_, packets_);
    for (const Bytes& packet : packets_) views_.emplace_back(packet);
    return views_;
  }
  void wait(std::int64_t) override {}
  void rejoin() override { network_.deafen(index_, false); }

 private:
  Network& network_;
  int index_;
  std::vector<Bytes> packets_;
  std::vector<std::span<const std::byte>> views_;
};

inline Description describe(int size, const Options& options, std::uint32_t receive_buffer = 425'984) {
  std::vector<Place> places;
  for (int i = 0; i < size; ++i) {
    Place place;
    place.address.family = 4;
    place.address.bytes = {10, 77, static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)};
    place.address.port = {0x20, 0x01};
    for (unsigned k = 0; k < 4; ++k)
      place.receive_buffer[k] = static_cast<std::uint8_t>(receive_buffer >> (24 - 8 * k));
    places.push_back(place);
  }
  Description d = Description::create(places, options);
  d.session = 42;  // replaces the random session, so that two runs are alike
  d.key.fill(7);
  return d;
}

/// Returns a packet as a member of the group would send it.
inline Bytes sealed(const Description& d, const Head& head, const Bytes& body) {
  Bytes packet(head_bytes);
  put_head(packet.data(), head);
  packet.insert(packet.end(), body.begin(), body.end());
  const std::uint64_t tag = Seal(d.key).tag(packet, {});
  packet.resize(packet.size() + tag_bytes);
  put(packet.data() + packet.size() - tag_bytes, tag);
  return packet;
}

inline std::byte byte_of(int sender, std::size_t message, std::size_t i) {
  return static_cast<std::byte>(sender * 37 + static_cast<int>(message) * 11 + static_cast<int>(i) * 7 +
                                static_cast<int>(i / 251));
}

}  // namespace multicast_test
