// SPDX-License-Identifier: Apache-2.0
#include "patterns/tree.hpp"

#include <algorithm>
#include <bit>

namespace antiphon {

namespace {

/// Each subtree's root is its first place. Of the `rest` of its places, near_part(rest) are its near child's subtree,
/// and those behind them its far child's; the larger part comes first.
template <class NearPart>
Tree tree_in_two(int place, int size, NearPart near_part) {
  Tree tree{-1, {}, 0, size};
  while (true) {
    const int near = tree.first + 1;
    const int far = near < tree.last ? near + near_part(tree.last - near) : near;
    if (place == tree.first) {
      if (near < far) tree.children.push_back(near);
      if (far < tree.last) tree.children.push_back(far);
      if (tree.last - far > far - near) std::reverse(tree.children.begin(), tree.children.end());
      return tree;
    }
    tree.parent = tree.first;
    if (place < far) tree.last = far;
    tree.first = place < far ? near : far;
  }
}

}  // namespace

Tree flat_tree(int place, int size) {
  if (place > 0) return {0, {}, place, place + 1};
  Tree tree{-1, {}, 0, size};
  for (int child = 1; child < size; ++child) tree.children.push_back(child);
  return tree;
}

Tree binary_tree(int place, int size) {
  return tree_in_two(place, size, [](int rest) { return (rest + 1) / 2; });
}

Tree aligned_binary_tree(int place, int size) {
  // The near part is full (2^k − 1 places), and the far part has at most one place more, so no tree is flatter.
  return tree_in_two(place, size,
                     [](int rest) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(rest))) - 1; });
}

Tree knomial_tree(int place, int size, int radix) {
  Tree tree;
  long long distance = 1;
  for (; distance < size; distance *= radix) {
    const long long digit = place / distance % radix;
    if (digit == 0) continue;
    tree.parent = static_cast<int>(place - digit * distance);
    break;
  }
  tree.first = place;
  tree.last = static_cast<int>(place + distance < size ? place + distance : size);
  while ((distance /= radix) > 0) {
    for (int digit = 1; digit < radix; ++digit) {
      const long long child = place + digit * distance;
      if (child < size) tree.children.push_back(static_cast<int>(child));
    }
  }
  return tree;
}

Tree run_tree(int place, int size, int radix) {
  if (radix == 0) return binary_tree(place, size);
  if (radix > 1) return knomial_tree(place, size, radix);
  Tree chain{place - 1, {}, place, size};
  if (place + 1 < size) chain.children.push_back(place + 1);
  return chain;
}

Tree doubling_tree(int place, int size, int radix) {
  Tree tree;
  long long distance = 1;
  while (distance * radix <= place) distance *= radix;
  if (place > 0) {
    tree.parent = static_cast<int>(place % distance);
    distance *= radix;
  }
  for (; place + distance < size; distance *= radix) {
    for (int digit = 1; digit < radix && place + digit * distance < size; ++digit) {
      tree.children.push_back(static_cast<int>(place + digit * distance));
    }
  }
  return tree;
}

Tree kary_tree(int place, int size, int radix) {
  Tree tree;
  long long level_begin = 0;  // the places above are those before it
  long long level_size = 1;
  while (level_begin + level_size <= place) {
    level_begin += level_size;
    level_size *= radix;
  }
  if (place > 0) {
    const long long above = level_size / radix;
    tree.parent = static_cast<int>(level_begin - above + (place - level_begin) % above);
  }
  for (long long i = 1; i <= radix && place + i * level_size < size; ++i) {
    tree.children.push_back(static_cast<int>(place + i * level_size));
  }
  return tree;
}

Tree in_order_binary_tree(int place, int size) {
  // The mirror image of the binary tree, in which a root comes before its halves.
  Tree mirror = binary_tree(size - 1 - place, size);
  Tree tree{mirror.parent < 0 ? -1 : size - 1 - mirror.parent, {}, size - mirror.last, size - mirror.first};
  for (auto child = mirror.children.rbegin(); child != mirror.children.rend(); ++child) {
    tree.children.push_back(size - 1 - *child);
  }
  return tree;
}

}  // namespace antiphon
