// SPDX-License-Identifier: Apache-2.0
// The line of the summary that says what messages between nodes travelled by.
#pragma once

#include <cstdio>

#include "json/json.hpp"

namespace antiphon::mpi {

Json network_row();
void print_network(std::FILE* out, const Json& row);

}  // namespace antiphon::mpi
