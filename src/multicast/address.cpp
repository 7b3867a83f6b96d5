// SPDX-License-Identifier: Apache-2.0
// The addresses of this host and of the others, and which of them share a network.
#include "multicast/address.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <tuple>

namespace antiphon::multicast {

namespace {

using Interfaces = std::unique_ptr<ifaddrs, decltype(&freeifaddrs)>;

Interfaces interfaces() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) throw NetworkError(system_reason("getifaddrs"));
  return {first, &freeifaddrs};
}

std::size_t length_of(const Address& address) { return address.family == 4 ? 4 : 16; }

std::uint8_t prefix_of(const Address& mask) {
  std::uint8_t bits = 0;
  for (std::size_t i = 0; i < length_of(mask); ++i)
    bits = static_cast<std::uint8_t>(bits + __builtin_popcount(mask.bytes[i]));
  return bits;
}

/// Parses "10.77.0.0/16" or a single address.
std::optional<Address> network_named(const std::string& text) {
  const auto slash = text.find('/');
  const std::string name = text.substr(0, slash);
  Address address;
  if (inet_pton(AF_INET, name.c_str(), address.bytes.data()) == 1) {
    address.family = 4;
  } else if (inet_pton(AF_INET6, name.c_str(), address.bytes.data()) == 1) {
    address.family = 6;
  } else {
    return std::nullopt;
  }
  const unsigned most = address.family == 4 ? 32 : 128;
  unsigned long bits = most;
  if (slash != std::string::npos) bits = std::strtoul(text.c_str() + slash + 1, nullptr, 10);
  address.prefix_bits = static_cast<std::uint8_t>(std::min<unsigned long>(bits, most));
  return address;
}

/// Orders addresses by their networks, as every host on these does.
bool has_earlier_network(const Address& a, const Address& b) {
  const auto network = [](const Address& address) {
    auto bytes = address.bytes;
    for (int i = 0; i < static_cast<int>(bytes.size()); ++i) {
      const int bits = std::clamp(address.prefix_bits - 8 * i, 0, 8);
      bytes[static_cast<std::size_t>(i)] &= static_cast<std::uint8_t>(0xff00 >> bits);
    }
    return std::tuple(address.family, bytes, address.prefix_bits);
  };
  return network(a) < network(b);
}

/// Multicast cannot use the link-local addresses of IPv6, because their meaning depends on the interface.
bool is_usable(const ifaddrs& entry, const Address& address) {
  const bool link_local = address.family == 6 && address.bytes[0] == 0xFE && (address.bytes[1] & 0xC0) == 0x80;
  return address.family != 0 && !link_local && (entry.ifa_flags & IFF_UP) != 0;
}

/// Returns the address of this host on the route to `peer`; family 0 if there is no route.
Address route_to(const Address& peer) {
  Address target = peer;
  set_port(target, 9);  // any port: connect on UDP sends nothing
  const SystemAddress to = to_system(target);
  const int socket = ::socket(to.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return {};
  Address own;
  SystemAddress from;
  from.length = sizeof from.storage;
  if (::connect(socket, to.get(), to.length) == 0 &&
      ::getsockname(socket, reinterpret_cast<sockaddr*>(&from.storage), &from.length) == 0) {
    own = from_system(from.get());
    set_port(own, 0);
  }
  ::close(socket);
  return own;
}

}  // namespace

std::string system_reason(const char* call) { return std::string(call) + ": " + std::strerror(errno); }

int port_of(const Address& address) { return address.port[0] << 8 | address.port[1]; }

void set_port(Address& address, int port) {
  address.port = {static_cast<std::uint8_t>(port >> 8), static_cast<std::uint8_t>(port)};
}

SystemAddress to_system(const Address& address) {
  SystemAddress result;
  const auto port = htons(static_cast<std::uint16_t>(port_of(address)));
  if (address.family == 4) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(result.storage);
    v4.sin_family = AF_INET;
    v4.sin_port = port;
    std::memcpy(&v4.sin_addr, address.bytes.data(), 4);
    result.length = sizeof v4;
  } else {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(result.storage);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = port;
    std::memcpy(&v6.sin6_addr, address.bytes.data(), 16);
    result.length = sizeof v6;
  }
  return result;
}

Address from_system(const sockaddr* address) {
  Address result;
  if (address == nullptr) return result;
  if (address->sa_family == AF_INET) {
    const auto& v4 = *reinterpret_cast<const sockaddr_in*>(address);
    result.family = 4;
    std::memcpy(result.bytes.data(), &v4.sin_addr, 4);
    set_port(result, ntohs(v4.sin_port));
  } else if (address->sa_family == AF_INET6) {
    const auto& v6 = *reinterpret_cast<const sockaddr_in6*>(address);
    result.family = 6;
    std::memcpy(result.bytes.data(), &v6.sin6_addr, 16);
    set_port(result, ntohs(v6.sin6_port));
  }
  return result;
}

std::string Address::text() const {
  if (family != 4 && family != 6) return "no address";
  char name[INET6_ADDRSTRLEN] = {};
  inet_ntop(family == 4 ? AF_INET : AF_INET6, bytes.data(), name, sizeof name);
  const int number = port_of(*this);
  const std::string host = family == 6 && number != 0 ? '[' + std::string(name) + ']' : std::string(name);
  return number == 0 ? host : host + ':' + std::to_string(number);
}

bool same_host(const Address& a, const Address& b) { return a.family == b.family && a.bytes == b.bytes; }

bool same_network(const Address& a, const Address& b) {
  if (a.family != b.family || a.family == 0) return false;
  for (unsigned bit = 0; bit < a.prefix_bits && bit < 8 * length_of(a); ++bit) {
    if (((a.bytes[bit / 8] ^ b.bytes[bit / 8]) >> (7 - bit % 8) & 1) != 0) return false;
  }
  return true;
}

unsigned interface_of(const Address& address) {
  const Interfaces all = interfaces();
  for (const ifaddrs* entry = all.get(); entry != nullptr; entry = entry->ifa_next) {
    if (same_host(from_system(entry->ifa_addr), address)) return if_nametoindex(entry->ifa_name);
  }
  return 0;
}

std::vector<Address> local_addresses(const std::string& only, std::size_t most) {
  const std::optional<Address> network = network_named(only);
  std::vector<Address> found, loopback;
  const Interfaces all = interfaces();
  for (const ifaddrs* entry = all.get(); entry != nullptr; entry = entry->ifa_next) {
    Address address = from_system(entry->ifa_addr);
    if (!is_usable(*entry, address)) continue;
    address.prefix_bits = prefix_of(from_system(entry->ifa_netmask));
    const bool is_loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
    if (!only.empty()) {
      if (network ? same_network(*network, address) : only == entry->ifa_name) found.push_back(address);
    } else if (is_loopback) {
      loopback.push_back(address);
    } else if ((entry->ifa_flags & IFF_MULTICAST) != 0) {
      found.push_back(address);
    }
  }
  if (found.empty()) found = std::move(loopback);
  std::stable_sort(found.begin(), found.end(), [](const Address& a, const Address& b) { return a.family < b.family; });
  if (found.size() > most) found.resize(most);
  return found;
}

Address choose_address(std::span<const std::vector<Address>> all, int index) {
  if (index < 0 || static_cast<std::size_t>(index) >= all.size())
    throw InvalidArgument("choose_address: no such member");
  const auto& own = all[static_cast<std::size_t>(index)];
  const auto is_own = [&](const Address& address) {
    return std::any_of(own.begin(), own.end(), [&](const Address& mine) { return same_host(mine, address); });
  };
  std::vector<std::int64_t> votes(own.size(), 0);
  for (std::size_t member = 0; member < all.size(); ++member) {
    if (member == static_cast<std::size_t>(index)) continue;
    const bool is_here = std::all_of(all[member].begin(), all[member].end(), is_own);
    for (const Address& peer : all[member]) {
      // Hosts may have an address in common, that of a bridge for containers: it leads nowhere.
      if (is_own(peer) && !is_here) continue;
      const Address from = route_to(peer);
      for (std::size_t i = 0; i < own.size(); ++i) {
        if (!same_host(from, own[i])) continue;
        // A neighbour counts for more than all members behind routers, because multicast needs a shared network.
        votes[i] += same_network(own[i], peer) ? static_cast<std::int64_t>(all.size()) : 1;
      }
    }
  }
  // Hosts list their interfaces in different orders, and must choose the same one of several common networks.
  std::size_t best = 0;
  for (std::size_t i = 1; i < own.size(); ++i) {
    if (votes[i] > votes[best] || (votes[i] == votes[best] && has_earlier_network(own[i], own[best]))) best = i;
  }
  if (own.empty() || votes[best] == 0) {
    throw NetworkError(
        "no interface leads to the other members\nhint: name one that does (an interface, or a network as 10.0.0.0/8)");
  }
  return own[best];
}

}  // namespace antiphon::multicast
