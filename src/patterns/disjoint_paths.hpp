// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace antiphon {

/// How many paths through all of `count` places there are of which no two take the same step from one place to another.
/// Walecki's (E. Lucas, Récréations mathématiques II, 1883), forwards and backwards.
int disjoint_paths(int count);

/// Returns how many are taken where so many are wanted: at most as many as there are, and one where there are none.
int disjoint_paths_taken(int count, std::int64_t wanted);

/// Returns the places in the order of path `number` of these. No two paths begin at the same place, and no two end at
/// the same one: so with one more place before the first, or behind the last, they still have no step in common.
std::vector<int> disjoint_path(int count, int number);

/// Returns a ring through `count` places, from place 0 on: with numbers from 0 to disjoint_paths(count − 1) − 1 no two
/// of them take the same step. There is one, number 0, also where there are no such paths.
std::vector<int> disjoint_ring(int count, int number);

}  // namespace antiphon
