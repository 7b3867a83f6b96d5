// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "antiphon/multicast.hpp"

namespace antiphon::multicast {

[[nodiscard]] int port_of(const Address& address);
void set_port(Address& address, int port);

/// An address in the form that system calls use.
struct SystemAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};
[[nodiscard]] SystemAddress to_system(const Address& address);
/// Returns family 0 for an address that is neither IPv4 nor IPv6.
[[nodiscard]] Address from_system(const sockaddr* address);

/// Tells whether `b` is in the network of `a`.
[[nodiscard]] bool same_network(const Address& a, const Address& b);
[[nodiscard]] bool same_host(const Address& a, const Address& b);
/// Returns the index of the interface that has this address, or 0 if none has.
[[nodiscard]] unsigned interface_of(const Address& address);
/// Describes errno, for example "bind: Address already in use".
[[nodiscard]] std::string system_reason(const char* call);

}  // namespace antiphon::multicast
