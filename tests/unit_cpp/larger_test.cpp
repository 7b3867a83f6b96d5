// SPDX-License-Identifier: Apache-2.0
// Checks more ranks than the full sweep has: other powers of two, one more, one less, and numbers with many bits.
#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "antiphon/verify.hpp"
#include "most_ranks.hpp"
#include "needs_places.hpp"

using namespace antiphon;

namespace {

/// Returns how many cases the algorithm supports.
int expect_right(const Algorithm& a, int size, int root, std::int64_t elements) {
  const bool reduction = is_reduction(a.collective);
  int checked = 0;
  for (const bool commutative : {true, false}) {
    if (!commutative && !reduction) continue;
    Parameters small;  // many pieces, blocks and windows that overlap
    for (const Parameter& p : a.parameters) {
      const bool sized = p.name.size() > 6 && p.name.substr(p.name.size() - 6) == "_bytes";
      if (sized && p.name != "eager_bytes") small.push_back({std::string(p.name), std::max<std::int64_t>(p.min, 24)});
    }
    for (const Parameters& parameters : {Parameters{}, small}) {
      const Case c{a.collective,      size,        root,  elements * (reduction ? 8 : 1),
                   reduction ? 8 : 1, commutative, false, static_cast<std::uint64_t>(size),
                   parameters};
      const Checked found = check_supported(a, c);
      CHECK_MESSAGE(!found.wrong, found.wrong.value_or(""));
      checked += found.supported;
    }
  }
  return checked;
}

}  // namespace

TEST_CASE("every algorithm gives the reference's result for some numbers of ranks to 64") {
  for (const Algorithm* a : algorithms()) {
    int checked = 0;
    for (const int size : {21, 31, 32, 33, 47, 64}) {
      if (size > most_ranks(size)) continue;
      for (const int root : {0, size / 3, size - 1}) {
        if (root > 0 && !has_root(a->collective)) continue;
        checked += expect_right(*a, size, root, 100);
      }
    }
    CAPTURE(std::string(name(a->collective)) + ":" + std::string(a->name));
    CHECK_MESSAGE((checked > 0 || few_ranks() || needs_places(*a)), "nothing was checked");
  }
}
