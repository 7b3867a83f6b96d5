// SPDX-License-Identifier: Apache-2.0
// Checks algorithms whose ranks stand in another order than their numbers'.
#include <algorithm>
#include <numeric>
#include <random>

#include <doctest/doctest.h>

#include "antiphon/cost.hpp"
#include "antiphon/error.hpp"
#include "antiphon/verify.hpp"
#include "most_ranks.hpp"

using namespace antiphon;

namespace {

std::vector<int> counted(int size) {
  std::vector<int> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// Returns the ranks node by node, where rank r is on node r mod `nodes`.
std::vector<int> along_nodes(int size, int nodes) {
  std::vector<int> order = counted(size);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return a % nodes < b % nodes; });
  return order;
}

std::vector<std::vector<int>> orders(int size) {
  std::vector<int> backwards = counted(size);
  std::reverse(backwards.begin(), backwards.end());
  std::vector<int> shuffled = counted(size);
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(static_cast<std::uint32_t>(size)));
  return {along_nodes(size, 2), along_nodes(size, 3), backwards, shuffled};
}

void expect_right(const Algorithm& a, const Case& c) {
  Case resolved = c;
  resolved.parameters = resolve_parameters(a, c.parameters);
  const auto problems = problems_of(resolved, a.knowledge);
  if (!std::all_of(problems.begin(), problems.end(), [&](const Problem& p) { return supports(a, p); })) return;
  const auto wrong = check(a, c);
  CHECK_MESSAGE(!wrong, wrong.value_or(""));
}

}  // namespace

TEST_CASE("algorithms that take any order give the reference's result in each") {
  int found = 0;
  for (const Algorithm* a : algorithms()) {
    if (!may_reorder(*a, true)) continue;
    ++found;
    CAPTURE(std::string(name(a->collective)) + ":" + std::string(a->name));
    std::uint64_t seed = 0;
    for (int size = 1; size <= most_ranks(9); ++size) {
      for (const auto& order : orders(size)) {
        for (int root = 0; root < (has_root(a->collective) ? size : 1); ++root) {
          for (const std::int64_t bytes : {0, 8, 56}) {
            for (const bool in_place : {false, true})
              expect_right(*a, {a->collective, size, root, bytes, 8, true, in_place, ++seed, {}, order});
          }
          expect_right(*a, {a->collective, size, root, 56, 8, true, false, ++seed, {{"encode", 1}}, order});
        }
      }
    }
  }
  CHECK(found > 20);
}

TEST_CASE("ranks keep their order where operands or blocks ask for it") {
  CHECK_FALSE(may_reorder(*find_algorithm(Collective::reduce, "chain"), false));
  CHECK(may_reorder(*find_algorithm(Collective::reduce, "chain"), true));
  CHECK_FALSE(may_reorder(*find_algorithm(Collective::scan, "chain"), true));
  CHECK_FALSE(may_reorder(*find_algorithm(Collective::allgather, "bruck"), true));
  CHECK_FALSE(may_reorder(*find_algorithm(Collective::bcast, "multicast"), true));
}

TEST_CASE("along the nodes, a ring leaves each node once") {
  constexpr int ranks = 12;
  constexpr int nodes = 3;
  const Algorithm& ring = *find_algorithm(Collective::allgather, "ring");
  int between = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    Problem p{Collective::allgather, rank, ranks, 0, 64};
    p.parameters = resolve_parameters(ring, {});
    p.order = along_nodes(ranks, nodes);
    const Schedule schedule = build_schedule(ring, p);
    const auto leaves = [&](const Op& op) { return op.kind == OpKind::send && op.peer % nodes != rank % nodes; };
    between += std::any_of(schedule.ops().begin(), schedule.ops().end(), leaves) ? 1 : 0;
  }
  CHECK(between == nodes);
}

TEST_CASE("the model puts ranks along the nodes where an algorithm takes any order") {
  const Profile profile = Profile::guess(4, 4, 1e9);
  const Cluster dealt = Cluster::round_robin(profile, 16, 4);
  const Cluster blocked = Cluster::blocked(profile, 16, 4);
  const Algorithm& chain = *find_algorithm(Collective::bcast, "chain");
  const PredictedCall call{Collective::bcast, 65536, 4};
  const PredictedCall same{Collective::bcast, 65536, 1};  // rank 4 of the dealt ranks stands at place 1
  CHECK(predict(call, chain, {}, dealt)->seconds == doctest::Approx(predict(same, chain, {}, blocked)->seconds));
  // Bruck's blocks must lie in order, so its ranks stay where they are.
  const Algorithm& bruck = *find_algorithm(Collective::allgather, "bruck");
  CHECK(predict({Collective::allgather, 65536}, bruck, {}, dealt)->seconds !=
        doctest::Approx(predict({Collective::allgather, 65536}, bruck, {}, blocked)->seconds));
}

TEST_CASE("an order that is none of all ranks is refused") {
  const Algorithm& chain = *find_algorithm(Collective::bcast, "chain");
  Problem p{Collective::bcast, 0, 3, 0, 64};
  p.parameters = resolve_parameters(chain, {});
  p.order = {0, 1};
  CHECK_THROWS_AS(build_schedule(chain, p), InvalidArgument);
  p.order = {1, 1, 2};
  CHECK_THROWS_AS(build_schedule(chain, p), InvalidArgument);
}
