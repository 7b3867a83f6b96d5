// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace antiphon {

/// One place's neighbours in a rooted tree on the places 0…size−1 (ranks relative to the root, or plain ranks).
struct Tree {
  int parent = -1;            ///< −1: the root
  std::vector<int> children;  ///< in the order in which to serve them: the longest way to go first
  int first = 0;              ///< the subtree is the places first…last−1, all of them
  int last = 0;
};

/// The children in the order in which their subtrees are complete: the smallest subtree first.
inline std::vector<int> smallest_first(const Tree& tree) { return {tree.children.rbegin(), tree.children.rend()}; }

/// All others are children of place 0.
Tree flat_tree(int place, int size);
/// Two children each, with halves as even as possible; a subtree is its root and then its two halves, in order of
/// places.
Tree binary_tree(int place, int size);
/// Two children each, at distances of powers of two, and no deeper than the binary tree. Whichever rank is the root, a
/// rank has the partners of dissemination and binomial trees only: new roots need few new connections.
Tree aligned_binary_tree(int place, int size);
/// In round i = 0, 1, … every place that has heard tells radix−1 others at distances d·radix^i: ⌈log_radix size⌉
/// rounds.
Tree knomial_tree(int place, int size, int radix);
/// In round i = 0, 1, … the places below radix^i, which have heard, tell radix−1 others each at distances d·radix^i:
/// place v's parent is v without its first digit. Subtrees are not runs of places: `first` and `last` mean nothing.
Tree doubling_tree(int place, int size, int radix);
/// Level by level: a place on the level of radix^l places has the children place + i·radix^l, i = 1…radix, as in Open
/// MPI (ompi_coll_base_topo_build_tree). `first` and `last` mean nothing.
Tree kary_tree(int place, int size, int radix);
/// Place v's parent is v without its lowest set bit.
inline Tree binomial_tree(int place, int size) { return knomial_tree(place, size, 2); }
/// Subtrees are runs of places: `radix` 0: the binary tree, 1: a chain, more: the k-nomial tree.
Tree run_tree(int place, int size, int radix);
/// Two children each, rooted at place size−1; a subtree is the one half, the other half, and then its root, in order of
/// places, so that an operation that does not commute can be applied along it (children in the order lower, upper).
Tree in_order_binary_tree(int place, int size);

}  // namespace antiphon
