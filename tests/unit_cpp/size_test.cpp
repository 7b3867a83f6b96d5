// SPDX-License-Identifier: Apache-2.0
// Checks that schedules stay small: cutting is a parameter of an operation, so their size must not grow with messages.
#include <string>

#include <doctest/doctest.h>

#include "antiphon/verify.hpp"
#include "most_ranks.hpp"

using namespace antiphon;

namespace {

std::string full_name(const Algorithm& a) { return std::string(name(a.collective)) + ":" + std::string(a.name); }

/// Algorithms with a parameter for rounds (one operation per block) may have two or three operations for each.
std::int64_t rounds_of(const Algorithm& a) {
  for (const Parameter& p : a.parameters) {
    if (p.name == "blocks") return p.default_value;
  }
  return 0;
}

/// Returns the most operations and the most scratch memory of some ranks in different places.
void expect_small(const Algorithm& a, int size, std::int64_t bytes) {
  const Case c{
      a.collective, size, 3, bytes, is_reduction(a.collective) ? 8 : 1, true, false, 1, resolve_parameters(a, {})};
  const auto problems = problems_of(c, a.knowledge);
  if (!supports(a, problems[0])) return;
  for (const int rank : {0, 1, 2, 3, 4, 5, 511, 512, 515, 1022, 1023}) {
    const Schedule s = build_schedule(a, problems[static_cast<std::size_t>(rank)]);
    CAPTURE(rank);
    CHECK(s.ops().size() <= static_cast<std::size_t>(8 * size + 64 + 4 * rounds_of(a)));
  }
}

}  // namespace

TEST_CASE("schedules of 1,024 ranks have a few operations a rank, also for 1 MiB blocks") {
  for (const Algorithm* a : algorithms()) {
    CAPTURE(full_name(*a));
    if (!few_ranks()) expect_small(*a, 1024, std::int64_t{1} << 20);
    expect_small(*a, 1024, 64);
  }
}

TEST_CASE("bytes do not change the number of operations, but of those with a number of blocks") {
  for (const Algorithm* a : algorithms()) {
    if (rounds_of(*a) > 0 || is_irregular(a->collective)) continue;
    CAPTURE(full_name(*a));
    std::size_t counts[2] = {0, 0};
    for (int i = 0; i < 2; ++i) {
      const Case c{a->collective, 64,    0, std::int64_t{i == 0 ? 1 : 16} << 20, is_reduction(a->collective) ? 8 : 1,
                   true,          false, 1, resolve_parameters(*a, {})};
      const auto problems = problems_of(c, a->knowledge);
      if (supports(*a, problems[0])) counts[i] = a->build(problems[5]).ops().size();
    }
    CHECK(counts[0] == counts[1]);
  }
}
