// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace probe {

/// A counter of this node's TCP (its network namespace's) since it started; nothing where the kernel does not say. The
/// files have a line of names and a line of values of each protocol.
inline std::optional<double> tcp_counter(const char* path, const std::string& protocol, const std::string& wanted) {
  std::ifstream file(path);
  std::string names, values;
  while (std::getline(file, names) && std::getline(file, values)) {
    if (names.rfind(protocol, 0) != 0) continue;
    std::istringstream name_stream(names), value_stream(values);
    std::string name, value;
    while (name_stream >> name && value_stream >> value) {
      if (name == wanted) return std::stod(value);
    }
  }
  return std::nullopt;
}

/// TCP segments that this node has sent again; -1 where the kernel does not say.
inline double retransmitted_segments() {
  return tcp_counter("/proc/self/net/snmp", "Tcp:", "RetransSegs").value_or(-1);
}

/// TCP segments that this node has lost: sent again, less those that their receivers then had twice (a loss probe is
/// sent when a queue is longer than the round trips before, and reported by a duplicate acknowledgement). -1 where the
/// kernel does not say.
inline double lost_segments() {
  const double again = retransmitted_segments();
  if (again < 0) return -1;
  double twice = 0;
  for (const char* name : {"TCPDSACKRecv", "TCPDSACKOfoRecv"})
    twice += tcp_counter("/proc/self/net/netstat", "TcpExt:", name).value_or(0);
  return again - twice;
}

}  // namespace probe
