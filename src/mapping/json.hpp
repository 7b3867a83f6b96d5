// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "antiphon/mapping.hpp"
#include "json/json.hpp"
#include "json/node.hpp"

namespace antiphon::mapping {

TrafficGraph read_traffic(const JsonNode& document);
Machine read_machine(const JsonNode& document);
/// What read_machine() reads, each node by itself.
Json json_of(const Machine& machine);
/// Throws FormatError where the file cannot be read.
std::string read_file(const std::string& path);

}  // namespace antiphon::mapping
