// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

#include "antiphon/problem.hpp"
#include "antiphon/schedule.hpp"

namespace antiphon {

/// The ranks that act in an algorithm for powers of two: the largest power of two of them. Each of the first 2·extra
/// ranks makes a pair with its neighbour; the even one hands its operand to the odd one, which acts for both. So acting
/// ranks stand for runs of ranks, in order.
struct Folding {
  int size, acting, extra;
  explicit Folding(int ranks)
      : size(ranks), acting(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))), extra(ranks - acting) {}

  [[nodiscard]] bool in_pair(int rank) const { return rank < 2 * extra; }
  [[nodiscard]] bool acts(int rank) const { return !in_pair(rank) || rank % 2 == 1; }
  [[nodiscard]] int place(int rank) const { return in_pair(rank) ? rank / 2 : rank - extra; }
  [[nodiscard]] int rank_at(int place) const { return place < extra ? 2 * place + 1 : place + extra; }
  /// The first rank that the acting rank at this place stands for; first_rank(acting) is the number of ranks.
  [[nodiscard]] int first_rank(int place) const { return place < extra ? 2 * place : place + extra; }
};

/// A partial result: where it is, and after which operation.
struct Partial {
  Range where;
  Dep since = no_op;     ///< an operation cut from the start of `where`: piece k is there after this
  bool writable = true;  ///< false: it may be the caller's input

  /// A part of it, for operations cut from the part's start.
  [[nodiscard]] Partial sub(std::int64_t offset, std::int64_t bytes, const Cut& cut) const;
};

/// Combines `mine` with what `received` brings to `landing`: mine OP theirs, or theirs OP mine if `theirs_is_left`. No
/// operand is copied: the result lies where one of both was, in the landing if the order allows it. An operation that
/// does not commute needs `mine` writable.
Partial combine(Schedule& s, const Problem& p, const Partial& mine, Range landing, OpId received, bool theirs_is_left,
                const Cut& cut);

/// One step of halving, for algorithms that go back the same way.
struct HalvingStep {
  int partner = -1;  ///< rank
  Range given;       ///< what the partner has kept, as offsets in the whole
  OpId sent = no_op;
};

struct Halved {
  Partial kept;            ///< the result of the part that this rank kept
  int begin = 0, end = 0;  ///< that part, in blocks
  Range kept_range;        ///< and as offsets in the whole
  std::vector<HalvingStep> steps;
};

enum class HalvingOrder : std::uint8_t {
  near_first,  ///< partners 1, 2, 4… places away: keeps the order of operands; the part kept is not that of the rank's
               ///< place
  far_first,   ///< partners P/2, P/4… away: place i keeps block i; needs a commutative operation
};

/// Recursive halving among the acting ranks: in each step the partners each send the half of what they have that the
/// other keeps, and reduce the other half. `offset_of(i)`: where block i of the `acting` blocks begins in the whole.
Halved recursive_halving(Schedule& s, const Problem& p, const Folding& folding, Partial mine, HalvingOrder order,
                         const std::function<std::int64_t(int)>& offset_of, const Cut& cut);

/// Comes before that and other algorithms for powers of two: even ranks of pairs send `mine` to the odd ones, which
/// combine it with theirs. Returns the send in `sent`.
Partial fold_pairs(Schedule& s, const Problem& p, const Folding& folding, const Partial& mine, const Cut& cut,
                   OpId* sent = nullptr);

/// These tags are above those of the steps.
inline constexpr int fold_tag = 100;
inline constexpr int unfold_tag = 101;

}  // namespace antiphon
