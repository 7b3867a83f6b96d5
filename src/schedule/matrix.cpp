// SPDX-License-Identifier: Apache-2.0
#include "antiphon/matrix.hpp"

#include "antiphon/error.hpp"

namespace antiphon {

Traffic& Traffic::operator+=(const Traffic& other) {
  if (size != other.size) throw InvalidArgument("traffic of different numbers of ranks cannot be added");
  for (std::size_t i = 0; i < messages.size(); ++i) {
    messages[i] += other.messages[i];
    bytes[i] += other.bytes[i];
  }
  return *this;
}

Traffic traffic_of(std::span<const Schedule> schedules) {
  Traffic traffic(static_cast<int>(schedules.size()));
  for (int from = 0; from < traffic.size; ++from) {
    for (const Op& op : schedules[static_cast<std::size_t>(from)].ops()) {
      if (op.kind != OpKind::send) continue;
      if (op.peer < 0 || op.peer >= traffic.size) {
        throw InvalidArgument("rank " + std::to_string(from) + " sends to rank " + std::to_string(op.peer) + ", which does not exist");
      }
      traffic.messages[traffic.cell(from, op.peer)] += op.pieces();
      traffic.bytes[traffic.cell(from, op.peer)] += op.bytes();
    }
  }
  return traffic;
}

}  // namespace antiphon
