// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "antiphon/cost.hpp"

namespace antiphon {

/// The time of more ranks is extrapolated from so many where the answer must be there in milliseconds.
inline constexpr int most_ranks = 64;

/// Tells whether in most algorithms few of the many ranks stand for all: long messages are then extrapolated from
/// shorter ones, which takes no more work than so many pieces.
bool few_stand_for_all(Collective collective, const Cluster& cluster);
inline constexpr std::int64_t most_pieces_of_few = 1 << 14;

/// Says what a few ranks' schedules tell of an algorithm.
struct FirstLook {
  double least_s = 0;         ///< what the links of these ranks need for all that they send or receive
  std::int64_t pieces = 0;    ///< of all ranks' messages, about
  std::int64_t composed = 0;  ///< operations of the rank that has most of them, where levels are composed
};

/// Looks at three ranks; of many ranks without a root at the first, which leads its node, since long schedules take
/// long to build.
FirstLook look_at(const PredictedCall& call, const Choice& choice, const Cluster& cluster);

struct LookedAt {
  FirstLook look;
  Choice choice;
};

/// So many pieces are few enough, and more than `most` too many.
struct PieceLimits {
  std::int64_t enough = 0;
  std::int64_t most = 0;
};

/// Returns the choice, with longer pieces where it has too many and the network holds them.
LookedAt look_at_fewer_pieces(const PredictedCall& call, Choice choice, const Cluster& cluster,
                              const PieceLimits& limits);

}  // namespace antiphon
