// SPDX-License-Identifier: Apache-2.0
// Checks schedules for several ranks a node: every shape, root and outer algorithm.
#include <numeric>

#include <doctest/doctest.h>

#include "antiphon/verify.hpp"
#include "most_ranks.hpp"

using namespace antiphon;

namespace {

const std::vector<std::vector<int>> shapes = {{1, 2},       {2, 1},    {3, 3},       {1, 1, 3},          {4, 2, 1},
                                              {2, 2, 2, 2}, {5, 1, 4}, {2, 3, 1, 4}, {3, 3, 3, 3, 3, 2}, {16, 1}};

int ranks_of(const std::vector<int>& shape) { return std::accumulate(shape.begin(), shape.end(), 0); }

void expect_right_nested(const Algorithm& a, const Case& c) {
  Case resolved = c;
  resolved.parameters = resolve_parameters(a, c.parameters);
  REQUIRE(supports(a, problems_of(resolved, a.knowledge)[0]));
  const auto wrong = check(a, c);
  CHECK_MESSAGE(!wrong, wrong.value_or(""));
}

void sweep_shape(const Algorithm& a, const std::vector<int>& shape) {
  const int size = ranks_of(shape);
  std::uint64_t seed = 1;
  const Parameter& outer = a.parameters[0];
  REQUIRE(outer.name == "outer");
  for (std::int64_t way = outer.min; way <= outer.max; ++way) {
    for (const std::int64_t bytes : {0, 8, 56, 400}) {
      for (int root = 0; root < (has_root(a.collective) ? size : 1); ++root) {
        for (const bool in_place : {false, true}) {
          for (const std::int64_t segment : {0, 16, 80}) {
            Case c{a.collective, size, root, bytes, 8, true, in_place, ++seed, {}, {}, shape};
            c.parameters = {{"outer", way}, {"segment_bytes", segment}, {"window", 1 + way}};
            expect_right_nested(a, c);
            c.parameters.push_back({"encode", 1});
            expect_right_nested(a, c);
          }
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("nested algorithms give the reference's result in every shape") {
  int found = 0;
  for (const Algorithm* a : algorithms()) {
    if (!a->levels) continue;
    ++found;
    CAPTURE(std::string(name(a->collective)));
    for (const auto& shape : shapes) {
      if (ranks_of(shape) > most_ranks(17)) continue;
      sweep_shape(*a, shape);
    }
  }
  CHECK(found > 2);
}
