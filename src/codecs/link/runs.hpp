// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace antiphon::codec {

/// The frames of a link that have arrived although an earlier one has not, in runs without a gap. A frame says below
/// which number it and all later ones refer to nothing. Only frames that are missing behind a message may still want
/// it, so what lies below such a number in the same run is of no more use.
class Runs {
 public:
  struct Run {
    std::uint64_t end = 0;       ///< the number after that of the last frame
    std::uint64_t floor = 0;     ///< the greatest number that these frames tell
    std::uint64_t released = 0;  ///< messages before this one are released
  };
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  /// Adds a frame. Returns the messages that no frame can refer to any more, each of them once.
  Range add(std::uint64_t number, std::uint64_t floor) {
    const auto after = runs_.upper_bound(number);
    auto at = after == runs_.begin() ? runs_.end() : std::prev(after);
    if (at != runs_.end() && number < at->second.end) return {};
    if (at == runs_.end() || at->second.end != number) at = runs_.emplace_hint(after, number, Run{number, 0, number});
    Run& run = at->second;
    run.end = number + 1;
    run.floor = std::max(run.floor, floor);
    if (after != runs_.end() && after->first == run.end) {
      run.floor = std::max(run.floor, after->second.floor);
      run.end = after->second.end;
      runs_.erase(after);
    }
    // Behind the new frame lies only what another run has released as far as its own frames allow.
    const Range useless{run.released, std::min(run.floor, number + 1)};
    run.released = std::max(run.released, run.floor);
    return useless;
  }

  /// Takes the first run out if it begins at this number or before; returns false if it does not.
  bool take_first(std::uint64_t number, Run& out) {
    if (runs_.empty() || runs_.begin()->first > number) return false;
    out = runs_.begin()->second;
    runs_.erase(runs_.begin());
    return true;
  }

 private:
  std::map<std::uint64_t, Run> runs_;  // by the number of their first frame
};

}  // namespace antiphon::codec
