// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>

#include "json/json.hpp"

namespace antiphon::mpi::summary {

/// Prints the summary's document for people; sections are not printed.
void print(std::FILE* out, const Json& document);

}  // namespace antiphon::mpi::summary
