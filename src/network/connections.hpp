// SPDX-License-Identifier: Apache-2.0
// The TCP connections of this process to other nodes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

struct ifaddrs;

namespace antiphon::network {

/// An IP address as 16 bytes (IPv4 as in IPv6), without and with a port.
using Address = std::string;

struct Connection {
  Address local;   ///< with the port
  Address remote;  ///< with the port
};

/// Returns this node's addresses (without ports) and the interfaces that have them.
std::map<Address, std::string> own_addresses();

/// Returns those of a system's list. An address that the loopback interface has as well is the other interface's.
std::map<Address, std::string> addresses_in(const ifaddrs* list);

/// Returns this process's TCP connections.
std::vector<Connection> open_connections();

/// Holds, by interface, the keys of connections that leave the node. Both ends of a connection have the same key, so
/// one that two ranks have is theirs, and not one to a launcher or a file server.
using KeysByInterface = std::map<std::string, std::vector<std::uint64_t>>;
KeysByInterface leaving(const std::vector<Connection>& connections, const std::map<Address, std::string>& own);

}  // namespace antiphon::network
