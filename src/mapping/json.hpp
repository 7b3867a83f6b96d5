// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "antiphon/mapping.hpp"
#include "json/json.hpp"
#include "json/node.hpp"

namespace antiphon::mapping {

TrafficGraph read_traffic(const JsonNode& document);
Machine read_machine(const JsonNode& document);
/// Tells whether the document says that it is a profile, from which a machine is made in another way.
bool is_profile(const Json& document);
/// Writes what read_machine() reads, with each node by itself.
Json json_of(const Machine& machine);
/// Throws FormatError if the file cannot be read.
std::string read_file(const std::string& path);

}  // namespace antiphon::mapping
