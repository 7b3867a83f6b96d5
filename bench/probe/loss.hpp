// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <sstream>
#include <string>

namespace probe {

/// TCP segments that this node has sent again since it started (its network namespace's); -1 where the kernel does not
/// say.
inline double retransmitted_segments() {
  std::ifstream file("/proc/self/net/snmp");
  std::string names, values;
  while (std::getline(file, names) && std::getline(file, values)) {
    if (names.rfind("Tcp:", 0) != 0) continue;
    std::istringstream name_stream(names), value_stream(values);
    std::string name, value;
    while (name_stream >> name && value_stream >> value) {
      if (name == "RetransSegs") return std::stod(value);
    }
  }
  return -1;
}

}  // namespace probe
