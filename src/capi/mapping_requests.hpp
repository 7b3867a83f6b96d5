// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "json/json.hpp"
#include "json/node.hpp"

namespace antiphon {

/// Names and summaries of the mapping methods, and why some cannot be used here.
Json list_mapping_methods(const JsonNode& request);
/// {"traffic" or "traffic_file", "machine" or "machine_file", "method", "seconds", "seed", "pins", "ranks_per_core",
/// "max_ranks_per_node", "objective", "cores_per_node", "current"}: an assignment, with the costs of it, block, cyclic
/// and current.
Json map_request(const JsonNode& request);
/// The same without a method, with "node_of_rank" or "slot_of_rank": its costs and what crosses each link.
Json score_mapping_request(const JsonNode& request);

/// {"machine" or "machine_file", "cores_per_node", "message_bytes"}: the machine in the plain form, also where it is
/// given as a profile.
Json describe_machine_request(const JsonNode& request);

}  // namespace antiphon
