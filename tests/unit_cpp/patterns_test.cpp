// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../../src/patterns/circulant.hpp"
#include "../../src/patterns/disjoint_paths.hpp"
#include "../../src/patterns/partition.hpp"
#include "../../src/patterns/phases.hpp"
#include "../../src/patterns/tree.hpp"
#include "antiphon/algorithm.hpp"
#include "antiphon/cost.hpp"
#include "antiphon/progress.hpp"
#include "antiphon/select.hpp"

using namespace antiphon;

namespace {

/// Every round's messages match, a block is sent only after it came, and every rank has every block exactly once.
void expect_broadcast(int size, int blocks) {
  CAPTURE(size);
  CAPTURE(blocks);
  std::vector<std::vector<Circulant::Round>> places;
  for (int place = 0; place < size; ++place) places.push_back(Circulant(place, size).rounds(blocks));
  std::vector<std::vector<int>> came(static_cast<std::size_t>(size),
                                     std::vector<int>(static_cast<std::size_t>(blocks), 0));
  std::fill(came[0].begin(), came[0].end(), 1);
  bool right = true;
  for (std::size_t i = 0; i < places[0].size(); ++i) {
    for (int place = 0; place < size; ++place) {
      const auto& round = places[static_cast<std::size_t>(place)][i];
      if (round.to < 0) continue;
      const auto& other = places[static_cast<std::size_t>(round.to)][i];
      right = right && other.from == place && other.recv_block == round.send_block;
      right = right && came[static_cast<std::size_t>(place)][static_cast<std::size_t>(round.send_block)] == 1;
    }
    for (int place = 0; place < size; ++place) {
      const auto& round = places[static_cast<std::size_t>(place)][i];
      if (round.from < 0) continue;
      right = right && places[static_cast<std::size_t>(round.from)][i].to == place;
      ++came[static_cast<std::size_t>(place)][static_cast<std::size_t>(round.recv_block)];
    }
  }
  for (const auto& counts : came) {
    right = right && std::all_of(counts.begin(), counts.end(), [](int n) { return n == 1; });
  }
  CHECK(right);
}

using Builder = Tree (*)(int, int);

void expect_tree(Builder build, int size, int root) {
  CAPTURE(size);
  for (int place = 0; place < size; ++place) {
    const Tree tree = build(place, size);
    CHECK((tree.parent < 0) == (place == root));
    CHECK(tree.first <= place);
    CHECK(place < tree.last);
    int below = 1;
    for (const int child : tree.children) {
      const Tree sub = build(child, size);
      CHECK(sub.parent == place);
      CHECK(sub.first >= tree.first);
      CHECK(sub.last <= tree.last);
      below += sub.last - sub.first;
    }
    CHECK(below == tree.last - tree.first);
  }
}

}  // namespace

TEST_CASE("circulant broadcast schedules are right for all sizes to 130 and some large ones") {
  for (int size = 1; size <= 130; ++size) {
    for (const int blocks : {1, 2, 3, 7, 8, 20}) expect_broadcast(size, blocks);
  }
  for (const int size : {255, 256, 257, 1000, 1023, 1024, 1025}) expect_broadcast(size, 13);
}

TEST_CASE("circulant broadcast takes blocks − 1 + ⌈log2 size⌉ rounds") {
  CHECK(Circulant(3, 16).rounds(10).size() == 13);
  CHECK(Circulant(3, 17).rounds(10).size() == 14);
  CHECK(Circulant(0, 1).rounds(10).empty());
}

TEST_CASE("trees: everybody is its parent's child, subtrees are runs of places") {
  for (int size = 1; size <= 70; ++size) {
    expect_tree(flat_tree, size, 0);
    expect_tree(binary_tree, size, 0);
    expect_tree(aligned_binary_tree, size, 0);
    expect_tree(binomial_tree, size, 0);
    expect_tree([](int place, int n) { return knomial_tree(place, n, 3); }, size, 0);
    expect_tree([](int place, int n) { return knomial_tree(place, n, 5); }, size, 0);
    expect_tree(in_order_binary_tree, size, size - 1);
  }
}

TEST_CASE("an aligned binary tree has children at distances of powers of two, and is no deeper than a binary tree") {
  const auto depth = [](int place, int size) {
    int levels = 0;
    for (; place > 0; ++levels) place = aligned_binary_tree(place, size).parent;
    return levels;
  };
  for (int size = 1; size <= 130; ++size) {
    int deepest = 0;
    for (int place = 0; place < size; ++place) {
      const Tree tree = aligned_binary_tree(place, size);
      CHECK(tree.children.size() <= 2);
      for (const int child : tree.children) CHECK(std::has_single_bit(static_cast<unsigned>(child - place)));
      deepest = std::max(deepest, depth(place, size));
    }
    CHECK(deepest == std::bit_width(static_cast<unsigned>(size)) - 1);
  }
}

TEST_CASE("an in-order tree's root comes after its children's subtrees") {
  for (int size = 1; size <= 40; ++size) {
    for (int place = 0; place < size; ++place) {
      const Tree tree = in_order_binary_tree(place, size);
      CHECK(tree.last == place + 1);
      CHECK(tree.children.size() <= 2);
      CHECK(std::is_sorted(tree.children.begin(), tree.children.end()));
    }
  }
}

TEST_CASE("a partition covers everything with blocks of whole elements that differ by one element at most") {
  for (const std::int64_t bytes : {0, 8, 40, 800, 808}) {
    for (const int parts : {1, 2, 3, 7, 16, 120}) {
      const Partition partition(bytes, 8, parts);
      std::int64_t at = 0;
      for (int i = 0; i < parts; ++i) {
        CHECK(partition.offset(i) == at);
        CHECK(partition.size(i) % 8 == 0);
        CHECK(partition.size(0) - partition.size(i) <= 8);
        CHECK(partition.size(i) >= 0);
        at += partition.size(i);
      }
      CHECK(at == bytes);
    }
  }
  CHECK(Partition(83, 8, 3).size(2) == 27);
}

namespace {

/// Returns whether this rank of a multicast allgather of one-piece blocks sends when it has received only the blocks of
/// `come`.
bool sends_after(int rank, int size, int senders, const std::vector<int>& come) {
  const Choice choice = parse_choice(Collective::allgather, "multicast:senders=" + std::to_string(senders));
  Problem p{Collective::allgather, rank, size, 0, 1000};
  p.parameters = choice.parameters;
  const Schedule schedule = build_schedule(*choice.algorithm, p);
  Progress progress(schedule);
  progress.reset();
  bool sends = false;
  for (Progress::Piece piece; progress.next(piece);) {
    const Op& op = schedule.ops()[piece.op];
    const bool arrived = op.kind == OpKind::recv && std::find(come.begin(), come.end(), op.peer) != come.end();
    sends = sends || op.kind == OpKind::multicast;
    if (op.kind == OpKind::copy || arrived) progress.complete(piece);
  }
  return sends;
}

}  // namespace

TEST_CASE(
    "patterns: in a multicast allgather as many send at a time as may, far apart, and the next after one of each") {
  for (int rank = 0; rank < 8; ++rank) CHECK(sends_after(rank, 8, 1, {}) == (rank == 0));
  for (int rank = 0; rank < 8; ++rank) CHECK(sends_after(rank, 8, 2, {}) == (rank == 0 || rank == 4));
  // The order is 0, 4, 1, 5, 2, 6, 3, 7.
  CHECK(sends_after(1, 8, 2, {0}));
  CHECK_FALSE(sends_after(5, 8, 2, {4}));
  CHECK(sends_after(5, 8, 2, {0, 4}));
  CHECK_FALSE(sends_after(2, 8, 2, {0, 1}));
  CHECK(sends_after(2, 8, 2, {1, 4}));
}

TEST_CASE("patterns: a flat gather asks for no more short blocks at a time than its window has pieces") {
  const Algorithm* flat = find_algorithm(Collective::gather, "flat");
  REQUIRE(flat != nullptr);
  PredictedCall call;
  call.collective = Collective::gather;
  call.bytes = 4096;
  const Parameters parameters = resolve_parameters(*flat, {});
  const Schedule root = flat->build(problem_of(call, 0, 64, *flat, parameters));
  int at_once = 0;
  for (const Op& op : root.ops()) {
    const auto deps = root.deps(op);
    at_once += op.kind == OpKind::send &&
               std::all_of(deps.begin(), deps.end(), [](const Dep& dep) { return dep.op == no_op; });
  }
  CHECK(at_once == 4);  // two senders have two pieces each
}

namespace {

/// The places are 0…count−1, each once.
bool visits_all(std::vector<int> places, int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  std::sort(places.begin(), places.end());
  return places == all;
}

}  // namespace

TEST_CASE("in each phase of an exchange the extra rank meets the one whose double is the phase") {
  for (int others = 5; others < 130; others += 2) {
    if (std::has_single_bit(static_cast<unsigned>(others + 1))) continue;
    for (int phase = 0; phase <= others; ++phase) {
      int searched = 0;
      while (2 * searched % others != phase % others) ++searched;
      REQUIRE(exchange_partners(others, others + 1, phase).to == searched);
      REQUIRE(exchange_partners(searched, others + 1, phase).to == others);
    }
  }
  // With a search in each phase this takes minutes.
  constexpr int many = 1'000'001;
  bool right = true;
  for (int phase = 1; phase <= many; ++phase)
    right = right && 2 * exchange_partners(many, many + 1, phase).to % many == phase % many;
  CHECK(right);
}

TEST_CASE("disjoint paths and rings visit every place and have no step, begin or end in common") {
  for (int count = 0; count <= 33; ++count) {
    CAPTURE(count);
    std::set<std::pair<int, int>> steps;
    std::set<int> begins, ends;
    const int paths = disjoint_paths(count);
    CHECK(paths >= count - 1);
    for (int number = 0; number < paths; ++number) {
      const std::vector<int> path = disjoint_path(count, number);
      CHECK(visits_all(path, count));
      for (std::size_t i = 1; i < path.size(); ++i) CHECK(steps.insert({path[i - 1], path[i]}).second);
      CHECK(begins.insert(path.front()).second);
      CHECK(ends.insert(path.back()).second);
    }
    steps.clear();
    for (int number = 0; number < disjoint_paths(count - 1); ++number) {
      const std::vector<int> ring = disjoint_ring(count, number);
      CHECK(visits_all(ring, count));
      for (std::size_t i = 0; i < ring.size(); ++i) CHECK(steps.insert({ring[i], ring[(i + 1) % ring.size()]}).second);
    }
  }
  CHECK(disjoint_ring(1, 0) == std::vector{0});
  CHECK(disjoint_ring(2, 0) == std::vector{0, 1});
}
