// SPDX-License-Identifier: Apache-2.0
// Checks groups over real sockets of the loopback interface, with all members in this process.
#include <chrono>
#include <memory>
#include <thread>

#include <doctest/doctest.h>

#include "antiphon/multicast.hpp"

using namespace antiphon::multicast;

namespace {

using Bytes = std::vector<std::byte>;

Address loopback() { return local_addresses("lo", 1).at(0); }

struct Members {
  explicit Members(int size, const Options& options = {}, const std::vector<Faults>& faults = {}, bool keeper = false) {
    std::vector<Endpoint> endpoints;
    std::vector<Place> places;
    for (int i = 0; i < size; ++i) {
      endpoints.push_back(Endpoint::open(loopback()));
      places.push_back(endpoints.back().place());
    }
    description = Description::unpack(Description::create(places, options).pack());
    for (int i = 0; i < size; ++i) {
      LocalOptions local;
      local.keeper = keeper;
      if (!faults.empty()) local.faults = faults[static_cast<std::size_t>(i) % faults.size()];
      groups.push_back(
          std::make_unique<Group>(description, i, std::move(endpoints[static_cast<std::size_t>(i)]), local));
    }
  }
  Group& operator[](int i) { return *groups[static_cast<std::size_t>(i)]; }

  /// Makes progress until `stop` holds, for at most 20 s; no member may fail.
  template <typename Stop>
  void until(Stop stop) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!stop() && std::chrono::steady_clock::now() < end) {
      for (auto& group : groups) group->progress();
    }
    for (auto& group : groups) REQUIRE_FALSE(group->failure());
    REQUIRE(stop());
  }

  Description description;
  std::vector<std::unique_ptr<Group>> groups;
};

Bytes pattern(std::size_t size, int sender) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(i * 7 + i / 256 + static_cast<std::size_t>(sender));
  return bytes;
}

/// Every member broadcasts in turn, and every result must be right.
void all_send(Members& members, std::size_t bytes, int messages) {
  const int size = static_cast<int>(members.groups.size());
  std::vector<Bytes> data;
  for (int s = 0; s < size; ++s) data.push_back(pattern(bytes, s));
  std::vector<std::vector<Bytes>> buffers(static_cast<std::size_t>(size),
                                          std::vector<Bytes>(static_cast<std::size_t>(size * messages), Bytes(bytes)));
  std::vector<std::pair<int, Ticket>> tickets;
  for (int m = 0; m < messages; ++m) {
    for (int s = 0; s < size; ++s) {
      for (int r = 0; r < size; ++r) {
        auto& buffer = buffers[static_cast<std::size_t>(r)][static_cast<std::size_t>(m * size + s)];
        tickets.emplace_back(r, r == s ? members[r].send(data[static_cast<std::size_t>(s)], {.concurrent = size})
                                       : members[r].receive(s, buffer));
      }
    }
  }
  members.until([&] {
    for (const auto& [member, ticket] : tickets) {
      if (!members[member].done(ticket)) return false;
    }
    for (auto& group : members.groups) {
      if (!group->drained()) return false;
    }
    return true;
  });
  for (int r = 0; r < size; ++r) {
    for (int k = 0; k < size * messages; ++k) {
      if (k % size != r)
        REQUIRE(buffers[static_cast<std::size_t>(r)][static_cast<std::size_t>(k)] ==
                data[static_cast<std::size_t>(k % size)]);
    }
  }
}

}  // namespace

TEST_CASE("multicast: over sockets, several senders") {
  Members members(4);
  CHECK(members[0].window_packets() > 8);
  CHECK(members[0].payload_bytes() == 1416);
  all_send(members, 50'000, 2);
  CHECK(members[1].statistics().foreign == 0);
  CHECK(members[1].statistics().forged == 0);
}

TEST_CASE("multicast: over sockets with faults injected") {
  for (const Strategy strategy : {Strategy::nack, Strategy::ack}) {
    Options options;
    options.strategy = strategy;
    Members members(
        3, options,
        {Faults{.seed = 3, .loss = 0.05, .duplicate = 0.05, .corrupt = 0.01, .reorder = 0.05, .delay = 0.02}});
    all_send(members, 30'000, 3);
    CHECK(members[0].statistics().forged > 0);
    CHECK(members[0].statistics().replayed > 0);
  }
}

TEST_CASE("multicast: two groups on one host do not hear each other") {
  Members one(2), other(2);
  all_send(one, 5'000, 1);
  all_send(other, 5'000, 1);
  for (auto& group : one.groups) CHECK(group->statistics().foreign + group->statistics().forged == 0);
}

TEST_CASE("multicast: the keeper repairs for a sender that is elsewhere") {
  Faults first;  // the receiver loses half of all packets
  first.seed = 11;
  first.loss = 0.5;
  Members members(2, {}, {Faults{}, first}, true);
  const Bytes data = pattern(40'000, 0);
  Bytes buffer(data.size());
  const Ticket sent = members[0].send(data, {.copy = true});
  const Ticket received = members[1].receive(0, buffer);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!members[1].done(received) && std::chrono::steady_clock::now() < end)
    members[1].progress(1'000'000);  // no call is made for member 0
  REQUIRE(members[1].done(received));
  CHECK(buffer == data);
  CHECK(members[0].done(sent));
  CHECK(members[0].statistics().repairs_unicast > 0);
}

TEST_CASE("multicast: raw packets are counted where they arrive") {
  Members members(3);
  members[0].probe(7, 200, 1000);
  members.until([&] {
    return members[0].probe_sent() && !members[1].probed(7).empty() && !members[2].probed(7).empty() &&
           members[1].probed(7)[0].received == 200;
  });
  const ProbeCount count = members[2].probed(7)[0];
  CHECK(count.sender == 0);
  CHECK(count.packets == 200);
  CHECK(count.bytes == 1000 * count.received);
  CHECK(members[1].probed(8).empty());
  CHECK_THROWS_AS(members[0].probe(1, 1, 10), antiphon::InvalidArgument);
}

TEST_CASE("multicast: one's own address is the one on the way to the others") {
  const std::vector<std::vector<Address>> all(3, local_addresses("lo"));
  CHECK(choose_address(all, 1) == all[1][0]);
  CHECK(all[0][0].text() == "127.0.0.1");
  CHECK_THROWS_AS(choose_address(std::vector<std::vector<Address>>(2), 0), NetworkError);
  CHECK(local_addresses("no such interface").size() <= 8);
}

TEST_CASE("multicast: of two networks that lead to the others as well, the choice does not depend on their order") {
  std::vector<Address> own = local_addresses("lo");
  const std::vector<Address> others = local_addresses("");
  own.insert(own.end(), others.begin(), others.end());
  const Address best = choose_address(std::vector(2, own), 0);
  std::reverse(own.begin(), own.end());
  CHECK(choose_address(std::vector(2, own), 0) == best);
}

TEST_CASE("multicast: an address that all hosts have leads to none") {
  const auto address = [](std::uint8_t family, std::uint8_t prefix_bits, std::array<std::uint8_t, 16> bytes) {
    return Address{family, prefix_bits, {}, bytes};
  };
  Address bridge = address(6, 128, {});
  bridge.bytes[15] = 1;
  const Address here = address(4, 8, {127, 0, 0, 1});
  const std::vector<std::vector<Address>> hosts = {
      {bridge, here}, {bridge, address(4, 8, {127, 0, 0, 2})}, {bridge, address(4, 8, {127, 0, 0, 3})}};
  CHECK(choose_address(hosts, 0) == here);
  const std::vector<std::vector<Address>> apart = {{here}, {here, address(4, 24, {203, 0, 113, 1})}};
  CHECK_THROWS_AS(choose_address(apart, 0), NetworkError);
}

TEST_CASE("multicast: descriptions") {
  Members members(2);
  const Description& d = members.description;
  const auto bytes = d.pack();
  CHECK(Description::unpack(bytes).pack() == bytes);
  CHECK(d.group.bytes[0] == 239);
  const Description other = Description::create(d.members);
  CHECK(other.session != d.session);
  CHECK(other.key != d.key);
  CHECK_THROWS_AS(Description::unpack(std::span(bytes).first(bytes.size() - 1)), antiphon::FormatError);
  CHECK_THROWS_AS(Description::create(std::span(d.members).first(1)), antiphon::InvalidArgument);
  Description open = d;
  open.group.bytes = {224, 0, 0, 1};
  CHECK_THROWS_AS(Description::unpack(open.pack()), antiphon::FormatError);
  Options options;
  options.packet_bytes = 64;
  CHECK_THROWS_AS(Description::create(d.members, options), antiphon::InvalidArgument);
}
