// SPDX-License-Identifier: Apache-2.0
#include "network/connections.hpp"

#include <dirent.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "multicast/address.hpp"

namespace antiphon::network {

namespace {

constexpr std::size_t address_bytes = 16;

/// Returns the address and the port, or nothing for other kinds of addresses.
Address with_port(const sockaddr* address) {
  const multicast::Address found = multicast::from_system(address);
  if (found.family == 0) return {};
  Address bytes(found.bytes.begin(), found.bytes.end());
  if (found.family == 4) bytes = Address(10, '\0') + "\xff\xff" + bytes.substr(0, 4);
  return bytes.append(found.port.begin(), found.port.end());
}

Address without_port(const Address& address) { return address.substr(0, address_bytes); }

/// Asks a descriptor for its name or its peer's; empty if it is no connection of the Internet.
template <typename Ask>
Address ask(int descriptor, Ask question) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  auto* const address = reinterpret_cast<sockaddr*>(&storage);
  return question(descriptor, address, &length) == 0 ? with_port(address) : Address{};
}

std::uint64_t key_of(const Connection& connection) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  const auto& [first, second] = std::minmax(connection.local, connection.remote);
  for (const unsigned char byte : first + second) hash = (hash ^ byte) * 1099511628211U;
  return hash >> 1;  // JSON keeps 63 bits
}

}  // namespace

std::map<Address, std::string> addresses_in(const ifaddrs* list) {
  std::map<Address, std::string> found, on_loopback;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    const Address address = with_port(entry->ifa_addr);
    if (address.empty()) continue;
    const std::string_view label = entry->ifa_name;  // "eth0:1" is a second address of eth0
    auto& names = (entry->ifa_flags & IFF_LOOPBACK) != 0 ? on_loopback : found;
    names.emplace(without_port(address), label.substr(0, label.find(':')));
  }
  found.merge(on_loopback);
  return found;
}

std::map<Address, std::string> own_addresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  std::map<Address, std::string> found = addresses_in(list);
  freeifaddrs(list);
  return found;
}

std::vector<Connection> open_connections() {
  std::vector<Connection> found;
  DIR* const directory = opendir("/proc/self/fd");
  if (directory == nullptr) return found;
  while (const dirent* entry = readdir(directory)) {
    const std::string_view name = entry->d_name;
    int descriptor = -1;
    if (std::from_chars(name.data(), name.data() + name.size(), descriptor).ec != std::errc{}) continue;
    int type = 0;
    socklen_t length = sizeof type;
    if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_STREAM) continue;
    Connection connection{ask(descriptor, getsockname), ask(descriptor, getpeername)};
    if (!connection.local.empty() && !connection.remote.empty()) found.push_back(std::move(connection));
  }
  closedir(directory);
  return found;
}

KeysByInterface leaving(const std::vector<Connection>& connections, const std::map<Address, std::string>& own) {
  KeysByInterface keys;
  for (const Connection& connection : connections) {
    const auto interface = own.find(without_port(connection.local));
    if (interface == own.end() || own.count(without_port(connection.remote)) > 0) continue;
    keys[interface->second].push_back(key_of(connection));
  }
  return keys;
}

}  // namespace antiphon::network
