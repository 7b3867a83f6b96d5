// SPDX-License-Identifier: Apache-2.0
#include "antiphon/matrix.hpp"

#include "antiphon/error.hpp"
#include "antiphon/index.hpp"

namespace antiphon {

Traffic& Traffic::operator+=(const Traffic& other) {
  if (size != other.size) throw InvalidArgument("traffic of different numbers of ranks cannot be added");
  for (std::size_t i = 0; i < messages.size(); ++i) {
    messages[i] += other.messages[i];
    bytes[i] += other.bytes[i];
  }
  return *this;
}

namespace {

std::vector<int> multicast_receivers(std::span<const Schedule> schedules, int from, const Op& op) {
  std::vector<int> receivers;
  for (const std::int32_t member : schedules[at(from)].groups()[at(op.group)]) {
    if (member < 0 || member >= static_cast<int>(schedules.size())) {
      throw InvalidArgument("rank " + std::to_string(from) + " has a group with rank " + std::to_string(member) +
                            ", which does not exist");
    }
    if (member != from) receivers.push_back(member);
  }
  return receivers;
}

}  // namespace

Traffic traffic_of(std::span<const Schedule> schedules) {
  Traffic traffic(static_cast<int>(schedules.size()));
  for (int from = 0; from < traffic.size; ++from) {
    for (const Op& op : schedules[at(from)].ops()) {
      if (op.kind == OpKind::multicast) {
        for (const int to : multicast_receivers(schedules, from, op)) {
          traffic.messages[traffic.cell(from, to)] += op.pieces();
          traffic.bytes[traffic.cell(from, to)] += op.bytes();
        }
      }
      if (op.kind != OpKind::send) continue;
      if (op.peer < 0 || op.peer >= traffic.size) {
        throw InvalidArgument("rank " + std::to_string(from) + " sends to rank " + std::to_string(op.peer) +
                              ", which does not exist");
      }
      traffic.messages[traffic.cell(from, op.peer)] += op.pieces();
      traffic.bytes[traffic.cell(from, op.peer)] += op.bytes();
    }
  }
  return traffic;
}

}  // namespace antiphon
