// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "json/json.hpp"
#include "json/node.hpp"

namespace antiphon {

/// Returns the names and summaries of the mapping methods, and why some cannot be used here.
Json list_mapping_methods(const JsonNode& request);
/// {"traffic" or "traffic_file", "machine" or "machine_file", "method", "seconds", "seed", "pins", "ranks_per_core",
/// "max_ranks_per_node", "objective", "cores_per_node", "current"}: returns an assignment, with its costs and those of
/// the block, cyclic and current placements.
Json map_request(const JsonNode& request);
/// Does the same without a method, with "node_of_rank" or "slot_of_rank": returns the costs and what crosses each link.
Json score_mapping_request(const JsonNode& request);

/// {"machine" or "machine_file", "cores_per_node", "message_bytes"}: returns the machine in the plain form, also where
/// it is given as a profile.
Json describe_machine_request(const JsonNode& request);

}  // namespace antiphon
