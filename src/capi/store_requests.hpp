// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "json/json.hpp"
#include "json/node.hpp"

namespace antiphon {

/// {"setting", "cache_home", "home"}: returns the directories of the store, the one that is written first.
Json store_directories_request(const JsonNode& request);

/// {"nodes", "mpi", "version"}: returns the "name" of their entry.
Json store_key_request(const JsonNode& request);

/// {"directories", "nodes", "mpi", "version", "text"}: writes a profile; returns its "path", and "why" not.
Json store_profile_request(const JsonNode& request);

/// {"text"}: returns what a file with what runs have learned says.
Json read_learned_request(const JsonNode& request);

}  // namespace antiphon
