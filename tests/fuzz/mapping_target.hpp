// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "antiphon/error.hpp"
#include "antiphon/mapping.hpp"

namespace antiphon::fuzz {

/// Maps what could be read: the block method must fit it or refuse it, and its cost must be a number.
inline bool place_and_score(const mapping::TrafficGraph& traffic, const mapping::Machine& machine) {
  if (traffic.ranks > 4096 || machine.node_count() > 512 || machine.cores() > 8192) return true;
  try {
    const mapping::Task task(traffic, machine);
    const mapping::Assignment a = mapping::find_method("block")->place(task, {});
    return !task.check(a) && mapping::score(task, a).messages_s >= 0;
  } catch (const InvalidArgument&) {
    return true;
  }
}

/// Reads traffic (both forms) and machines, and uses each with a small counterpart.
inline bool mapping(std::string_view data) {
  const auto two = antiphon::mapping::TrafficGraph::parse(R"({"ranks": 2, "entries": [[0, 1, 1, 8]]})");
  try {
    const auto traffic = data.starts_with("APTRAFF1") ? antiphon::mapping::TrafficGraph::of_binary(data)
                                                      : antiphon::mapping::TrafficGraph::parse(data);
    if (antiphon::mapping::TrafficGraph::of_binary(traffic.to_binary()) != traffic) return false;
    const auto machine = antiphon::mapping::Machine::parse(
        R"({"nodes": 64, "cores_per_node": 64, "latency_s": 1e-5, "bytes_per_s": 1e8})");
    if (!place_and_score(traffic, machine)) return false;
  } catch (const FormatError&) {
  } catch (const InvalidArgument&) {
    // The document is well-formed, but has negative counts or ranks that do not exist.
  }
  try {
    if (!place_and_score(two, antiphon::mapping::Machine::parse(data))) return false;
  } catch (const FormatError&) {
  }
  return true;
}

}  // namespace antiphon::fuzz
