// SPDX-License-Identifier: Apache-2.0
// What choices rest on in this run, each fact with its source, for the summary.
#pragma once

#include <cstdio>

#include "antiphon/fact.hpp"
#include "json/json.hpp"

namespace antiphon::mpi {

/// Adds what a higher room knows.
void add_fact(Fact fact);
Json facts_row();
/// Prints what the line about the network does not say.
void print_facts(std::FILE* out, const Json& row);

}  // namespace antiphon::mpi
