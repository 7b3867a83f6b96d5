// SPDX-License-Identifier: Apache-2.0
// Checks that graphs are cut in two within their range, and in time.
#include "mapping/search/bisect.hpp"

#include <algorithm>

#include <doctest/doctest.h>

using namespace antiphon;
using namespace antiphon::mapping;

TEST_CASE("bisection keeps its range and fixed vertices") {
  Random random(3);
  CutGraph g;
  const int n = 200;
  for (int v = 0; v < n; ++v) {
    for (const int u : {(v + 1) % n, (v + n - 1) % n}) {
      g.to.push_back(u);
      g.weight.push_back(1);
    }
    g.first.push_back(static_cast<int>(g.to.size()));
    g.size.push_back(1);
  }
  Sides side = bisect(g, {70, 70}, random);
  CHECK(std::count(side.begin(), side.end(), 0) == 70);
  int cut = 0;
  for (int v = 0; v < n; ++v)
    cut += side[static_cast<std::size_t>(v)] != side[static_cast<std::size_t>((v + 1) % n)] ? 1 : 0;
  CHECK(cut <= 6);
  g.fixed.assign(n, -1);
  g.fixed[5] = 1;
  g.fixed[6] = 0;
  side = bisect(g, {100, 120}, random);
  CHECK(side[5] == 1);
  CHECK(side[6] == 0);
  const auto left = std::count(side.begin(), side.end(), 0);
  CHECK((left >= 100 && left <= 120));
}

TEST_CASE("bisection takes work in proportion to the ranks also where these are tied to one hub or to none") {
  constexpr int n = 65536;
  CutGraph idle;
  idle.size.assign(n, 1);
  idle.first.assign(n + 1, 0);
  CutGraph star = idle;
  const auto add = [&](int to) {
    star.to.push_back(to);
    star.weight.push_back(1);
  };
  for (int v = 1; v < n; ++v) add(v);
  for (int v = 1; v < n; ++v) add(0);
  for (int v = 0; v < n; ++v) star.first[static_cast<std::size_t>(v) + 1] = n - 1 + v;
  CutGraph pinned = star;
  pinned.fixed.assign(n, -1);
  for (int v = 0; v < n; v += 5) pinned.fixed[static_cast<std::size_t>(v)] = static_cast<signed char>(v / 5 % 2);
  for (const CutGraph* g : {&idle, &star, &pinned}) {
    Random random(7);
    const Sides side = bisect(*g, {n / 2, n / 2}, random);
    CHECK(std::count(side.begin(), side.end(), 0) == n / 2);
    const auto keeps_side = [&](int v) {
      return g->fixed[static_cast<std::size_t>(v)] == side[static_cast<std::size_t>(v)];
    };
    for (int v = 0; v < n && !g->fixed.empty(); v += 5) REQUIRE(keeps_side(v));
  }
}
