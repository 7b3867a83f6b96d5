// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <queue>

namespace antiphon {

/// Something that happens at one point of model time.
struct Event {
  enum class What : std::uint8_t {
    leave,      ///< a message may leave its sender
    left,       ///< its last byte has left
    arrive,     ///< it is at its receiver's node
    taken_in,   ///< the receiver's processor has taken it in
    turn,       ///< the next turn on a shared core begins
    step,       ///< the rank in turn does its next step
    last_look,  ///< the rank in turn looks once more before it gives the core away
  };
  double time_s = 0;
  std::uint64_t order = 0;
  What what = What::leave;
  std::uint32_t subject = 0;  ///< a message; of a turn, the ring; of a step or last look, the rank
  bool operator<(const Event& other) const {
    return time_s != other.time_s ? time_s > other.time_s : order > other.order;
  }
};

/// The events to come, sorted by time; among events of the same time, the one added first comes first.
class Events {
 public:
  /// Returns the event's order, which is unique.
  std::uint64_t add(double time_s, Event::What what, std::uint32_t subject) {
    queue_.push({time_s, ++order_, what, subject});
    return order_;
  }
  /// Returns infinity if no event is to come.
  [[nodiscard]] double next_s() const {
    return queue_.empty() ? std::numeric_limits<double>::infinity() : queue_.top().time_s;
  }
  Event pop() {
    const Event event = queue_.top();
    queue_.pop();
    return event;
  }

 private:
  std::priority_queue<Event> queue_;
  std::uint64_t order_ = 0;
};

}  // namespace antiphon
