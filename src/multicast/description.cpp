// SPDX-License-Identifier: Apache-2.0
#include <sys/random.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "multicast/address.hpp"
#include "multicast/bytes.hpp"

namespace antiphon::multicast {

namespace {

constexpr std::uint32_t description_magic = 0x416E7447;  // "AntG"
constexpr std::uint16_t version = 1;

void fill_random(void* to, std::size_t bytes) {
  auto* at = static_cast<std::byte*>(to);
  while (bytes > 0) {
    const ssize_t got = ::getrandom(at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw NetworkError(system_reason("getrandom"));
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

/// RFC 2365: 239.192.0.0/14 is scoped to an organisation, 239.255.0.0/16 to a site. The /14 has 262,144 groups.
Address draw_group(int family) {
  std::uint8_t random[16];
  fill_random(random, sizeof random);
  Address group;
  group.family = static_cast<std::uint8_t>(family);
  if (family == 4) {
    group.bytes = {239, static_cast<std::uint8_t>(192 | (random[0] & 3)), random[1], random[2]};
  } else {
    // RFC 4291: ff15 is transient and has site scope.
    std::memcpy(group.bytes.data(), random, 16);
    group.bytes[0] = 0xFF;
    group.bytes[1] = 0x15;
  }
  // Linux assigns ports from 32768 on by itself; well-known ports are below this range.
  set_port(group, 10000 + (random[14] << 8 | random[15]) % 22000);
  return group;
}

bool is_scoped(const Address& group) {
  if (group.family == 4) {
    return group.bytes[0] == 239 && ((group.bytes[1] & 0xFC) == 192 || group.bytes[1] == 255);
  }
  return group.family == 6 && group.bytes[0] == 0xFF && group.bytes[1] == 0x15;
}

void put_options(Writer& writer, const Options& o) {
  writer.number(static_cast<std::uint8_t>(o.strategy));
  writer.number(static_cast<std::uint16_t>(o.packet_bytes));
  writer.number(static_cast<std::uint32_t>(o.window_packets));
  writer.number(static_cast<std::uint16_t>(o.tree_arity));
  for (const auto value : {o.rate_bytes_per_s, o.first_retry_ns, o.least_retry_ns, o.most_retry_ns, o.lost_after_ns}) {
    writer.number(static_cast<std::uint64_t>(value));
  }
}

Options get_options(Reader& reader) {
  Options o;
  o.strategy = static_cast<Strategy>(reader.number<std::uint8_t>());
  o.packet_bytes = reader.number<std::uint16_t>();
  o.window_packets = static_cast<int>(reader.number<std::uint32_t>() & 0x7FFFFFFF);
  o.tree_arity = reader.number<std::uint16_t>();
  for (auto* value : {&o.rate_bytes_per_s, &o.first_retry_ns, &o.least_retry_ns, &o.most_retry_ns, &o.lost_after_ns}) {
    *value = static_cast<std::int64_t>(reader.number<std::uint64_t>());
  }
  return o;
}

void require(bool holds, const char* what) {
  if (!holds) throw InvalidArgument(std::string("multicast group: ") + what);
}

}  // namespace

void Description::check() const {
  require(members.size() >= 2 && members.size() <= 65534, "2 to 65534 members");
  require(is_scoped(group) && port_of(group) != 0,
          "the group's address is not administratively scoped (239.192.0.0/14, 239.255.0.0/16, ff15::/16)");
  for (const Place& member : members) {
    require(member.address.family == group.family, "members and group are of one address family");
    require(port_of(member.address) != 0, "a member has no port");
    require(get<std::uint32_t>(reinterpret_cast<const std::byte*>(member.receive_buffer.data())) >= 2048,
            "a member's receive buffer holds nothing");
  }
  require(options.strategy == Strategy::nack || options.strategy == Strategy::ack, "no such strategy");
  require(options.packet_bytes >= 128 && options.packet_bytes <= 9000, "packet_bytes from 128 to 9000");
  require(options.window_packets >= 0 && options.window_packets <= 1 << 16, "window_packets up to 65536");
  require(options.tree_arity >= 1, "tree_arity from 1");
  require(options.rate_bytes_per_s >= 0, "rate_bytes_per_s from 0");
  require(options.least_retry_ns > 0 && options.least_retry_ns <= options.first_retry_ns &&
              options.first_retry_ns <= options.most_retry_ns && options.most_retry_ns <= options.lost_after_ns / 4 &&
              options.lost_after_ns <= 3'600'000'000'000,
          "times: 0 < least_retry <= first_retry <= most_retry <= lost_after / 4 <= 15 min");
}

Description Description::create(std::span<const Place> members, const Options& options) {
  Description d;
  d.members.assign(members.begin(), members.end());
  require(!members.empty(), "2 to 65534 members");
  d.group = draw_group(members.front().address.family);
  fill_random(&d.session, sizeof d.session);
  fill_random(d.key.data(), d.key.size());
  d.options = options;
  d.check();
  return d;
}

std::vector<std::byte> Description::pack() const {
  Writer writer;
  writer.number(description_magic);
  writer.number(version);
  writer.number(session);
  writer.raw(std::as_bytes(std::span(key)));
  writer.raw(std::as_bytes(std::span(&group, 1)));
  put_options(writer, options);
  writer.number(static_cast<std::uint32_t>(members.size()));
  writer.raw(std::as_bytes(std::span(members)));
  return writer.take();
}

Description Description::unpack(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  if (reader.number<std::uint32_t>() != description_magic)
    throw FormatError("multicast group: this is no description of one");
  if (reader.number<std::uint16_t>() != version) throw FormatError("multicast group: a description of another version");
  Description d;
  d.session = reader.number<std::uint64_t>();
  const auto key = reader.raw(d.key.size());
  if (!key.empty()) std::memcpy(d.key.data(), key.data(), key.size());
  const auto group = reader.raw(sizeof d.group);
  if (!group.empty()) std::memcpy(&d.group, group.data(), group.size());
  d.options = get_options(reader);
  const auto count = reader.number<std::uint32_t>();
  if (!reader.ok() || reader.left() != count * sizeof(Place))
    throw FormatError("multicast group: a description of the wrong length");
  d.members.resize(count);
  const auto places = reader.raw(reader.left());
  if (!places.empty()) std::memcpy(d.members.data(), places.data(), places.size());
  try {
    d.check();
  } catch (const InvalidArgument& error) {
    throw FormatError(error.what());
  }
  return d;
}

}  // namespace antiphon::multicast
