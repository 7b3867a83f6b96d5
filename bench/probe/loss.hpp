// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "antiphon/text.hpp"

namespace probe {

/// Returns a counter of this node's TCP (of its network namespace) since its start, or nothing if the kernel lacks it.
/// The files have a line of names and a line of values for each protocol.
inline std::optional<double> tcp_counter(const char* path, const std::string& protocol, const std::string& wanted) {
  const std::vector<std::string> lines = antiphon::lines_of_file(path);
  for (std::size_t at = 0; at + 1 < lines.size(); at += 2) {
    if (!lines[at].starts_with(protocol)) continue;
    const std::vector<std::string> names = antiphon::words_of(lines[at]), values = antiphon::words_of(lines[at + 1]);
    for (std::size_t i = 0; i < std::min(names.size(), values.size()); ++i) {
      if (names[i] == wanted) return std::stod(values[i]);
    }
  }
  return std::nullopt;
}

/// Number of TCP segments that this node has sent again; -1 if the kernel does not say.
inline double retransmitted_segments() {
  return tcp_counter("/proc/self/net/snmp", "Tcp:", "RetransSegs").value_or(-1);
}

/// Number of TCP segments that this node has lost: those sent again, less those that receivers report as duplicates.
/// TCP sends a loss probe if a queue takes longer than earlier round trips; it causes such a report. -1 if the kernel
/// does not say.
inline double lost_segments() {
  const double again = retransmitted_segments();
  if (again < 0) return -1;
  double twice = 0;
  for (const char* name : {"TCPDSACKRecv", "TCPDSACKOfoRecv"})
    twice += tcp_counter("/proc/self/net/netstat", "TcpExt:", name).value_or(0);
  return again - twice;
}

}  // namespace probe
