// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>

#include "patterns/cut.hpp"

namespace antiphon {

/// Several messages between the same two ranks in one direction, without gaps: the next begins while the last pieces of
/// the one before are under way, and at most about a window of pieces is under way in all. Both sides make the same
/// sequence (messages in the same order, with the same cut); messages match by tags that repeat after `depth` messages.
class MessageSequence {
 public:
  explicit MessageSequence(Cut cut, int first_tag = 0) : cut_(cut), first_tag_(first_tag) { recent_.fill(no_op); }

  OpId send(Schedule& s, int to_rank, const Range& from, Deps deps = {}) {
    return follow(s, s.send(to_rank, from, deps, cut_, tag()), from.bytes);
  }
  OpId recv(Schedule& s, int from_rank, const Range& to, Deps deps = {}) {
    return follow(s, s.recv(from_rank, to, deps, cut_, tag()), to.bytes);
  }

  static constexpr int depth = 8;

 private:
  [[nodiscard]] int tag() const { return first_tag_ + count_ % depth; }

  OpId follow(Schedule& s, OpId id, std::int64_t bytes) {
    auto& same_tag = recent_[static_cast<std::size_t>(count_ % depth)];
    s.after(following(last_, last_pieces_, cut_));
    s.after(same_tag);
    // The dependency above does not hold back messages of one piece; this one keeps at most a window of them under way.
    const int ahead = cut_.window == 0 ? depth : std::min<int>(cut_.window, depth);
    if (ahead < depth && count_ >= ahead) s.after(recent_[static_cast<std::size_t>((count_ - ahead) % depth)]);
    same_tag = last_ = id;
    last_pieces_ = pieces_of(bytes, cut_);
    ++count_;
    return id;
  }

  Cut cut_;
  int first_tag_;
  int count_ = 0;
  OpId last_ = no_op;
  std::int64_t last_pieces_ = 0;
  std::array<OpId, depth> recent_{};
};

}  // namespace antiphon
