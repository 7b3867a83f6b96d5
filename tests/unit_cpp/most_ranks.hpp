// SPDX-License-Identifier: Apache-2.0
// Limits tests for the sanitizers, under which a full sweep takes long.
#pragma once

#include <algorithm>
#include <cstdlib>

/// Returns ANTIPHON_TEST_MAX_RANKS where it is set and smaller than the ranks that a test has otherwise.
inline int most_ranks(int otherwise) {
  const char* limit = std::getenv("ANTIPHON_TEST_MAX_RANKS");
  return limit == nullptr ? otherwise : std::min(otherwise, std::atoi(limit));
}

/// Tells whether there is such a limit: simulations of hundreds of ranks take minutes under a sanitizer.
inline bool few_ranks() { return most_ranks(17) < 17; }
