// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "antiphon/multicast.hpp"

namespace antiphon::multicast {

[[nodiscard]] int port_of(const Address& address);
void set_port(Address& address, int port);

/// What the system's calls want.
struct SystemAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};
[[nodiscard]] SystemAddress to_system(const Address& address);
/// Family 0 for what is neither IPv4 nor IPv6.
[[nodiscard]] Address from_system(const sockaddr* address);

/// True if both are in the network that `a` is in.
[[nodiscard]] bool same_network(const Address& a, const Address& b);
[[nodiscard]] bool same_host(const Address& a, const Address& b);
/// The index of the interface that has this address; 0 if none has.
[[nodiscard]] unsigned interface_of(const Address& address);
/// "bind: Address already in use"
[[nodiscard]] std::string system_reason(const char* call);

}  // namespace antiphon::multicast
