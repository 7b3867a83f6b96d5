// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "antiphon/problem.hpp"
#include "antiphon/schedule.hpp"

namespace antiphon {

/// How a message goes from one rank to the next: in segments and, where `granted`, with at most `cut.window` of them
/// under way, because the receiver says of each that it has come in. Without that, all that the sender has may be under
/// way, and a port drops what its buffer does not hold. Grants are messages of one byte: for segments long enough that
/// these do not count. They have the message's tag + 1.
struct Stream {
  Cut cut;
  bool granted = false;
  int tag = 0;

  OpId send(Schedule& s, int to_rank, const Range& from, Dep ready) const;
  OpId recv(Schedule& s, int from_rank, const Range& to, Dep free = no_op) const;
};

/// The stream that the parameters "segment_bytes", "window" and "granted" give.
Stream stream_of(const Problem& p);

/// The text of the parameter "granted".
inline constexpr const char* granted_means =
    "1: the next rank says which segments have come in, so that no more than `window` are under way; 0: it does not";

}  // namespace antiphon
