// SPDX-License-Identifier: Apache-2.0
// How long the evaluator takes, in pieces of messages.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <span>

#include "antiphon/schedule.hpp"

namespace antiphon {

/// About so many pieces are evaluated in a second.
constexpr double pieces_per_s = 4e5;
constexpr std::int64_t few_pieces = 1 << 16;
/// To build so many operations takes as long as to simulate a piece of a message.
constexpr std::int64_t operations_a_piece = 4;

/// A quick answer builds schedules of at most so many ranks, and evaluates so many pieces, or as long as the call
/// takes.
constexpr int soon_ranks = 4096;
constexpr std::int64_t soon_operations = 512;
constexpr std::int64_t soon_pieces = 1 << 13;
/// With more pieces than this (about a second of evaluation) nothing is evaluated.
constexpr std::int64_t most_pieces = 1 << 18;
constexpr std::int64_t most_quick_pieces = 1 << 15;

/// What a prediction took so far.
struct Effort {
  std::int64_t pieces = 0;  ///< simulated
  bool given_up = false;    ///< anything that the prediction is made of
};

/// Counts half of a message's pieces at its sender and half at its receiver. In a tree, where few ranks send and each
/// receives, some ranks then tell better what all have.
inline std::int64_t pieces_of(const Schedule& s) {
  std::int64_t halves = 0;
  for (const Op& op : s.ops()) {
    if (op.kind == OpKind::multicast)
      halves += 2 * op.pieces() * static_cast<std::int64_t>(s.groups()[static_cast<std::size_t>(op.group)].size());
    else if (op.is_message() && op.group < 0) halves += op.pieces();
  }
  // Operations that send nothing cost the evaluator time too, but less.
  return (halves + 1) / 2 + static_cast<std::int64_t>(s.ops().size()) / operations_a_piece;
}

inline std::int64_t pieces_of(std::span<const Schedule> schedules) {
  std::int64_t pieces = 0;
  for (const Schedule& s : schedules) pieces += pieces_of(s);
  return pieces;
}

/// Estimates the pieces of all ranks from some: in a flat tree the root sends the most, in a ring the others do.
std::int64_t about_all_pieces(const std::function<std::int64_t(int rank)>& pieces_of_rank, int root, int ranks);

}  // namespace antiphon
