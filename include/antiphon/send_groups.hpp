// SPDX-License-Identifier: Apache-2.0
// Groups of messages that a rank sends one after the other and then waits for, found while the program repeats them.
// What comes is then known when a group begins, so its messages can be held until the wait, and go in an order that
// spares the receivers' ports (docs/concepts/messages-in-turn.md).
#pragma once

#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

namespace antiphon {

/// Learns from one rank's own calls. A group is what the rank sends to other nodes from a first message to the wait.
class SendGroups {
 public:
  struct Send {
    std::uint64_t comm = 0;  ///< equal for the same ranks in the same order
    int ranks = 0;           ///< of that communicator
    int nodes = 0;           ///< that these are on
    int peer = 0;            ///< the receiver, one of these
    int node = 0;            ///< the receiver's
    bool near = false;       ///< that is this rank's
    std::int64_t bytes = 0;
  };
  /// How a group goes.
  struct Way {
    bool in_turn = false;  ///< one message after the other
    bool rotates = false;  ///< first to the ranks that follow this one
  };
  enum class Advice : std::uint8_t {
    pass,     ///< send it
    hold,     ///< hold it
    release,  ///< the program does something new: send what is held, then this
  };

  /// `bytes_per_s` is what this rank may take of its node's link.
  explicit SendGroups(double bytes_per_s) : bytes_per_s_(bytes_per_s) {}

  Advice send(const Send& send, double now_s);
  /// The program is back from sending.
  void sent(double now_s) { back_s_ = now_s; }
  /// The program has posted a receive from any rank: another order could make another result.
  void spoil() { spoilt_ = true; }
  /// The program waits for messages, so the group is complete. Returns how what is held goes.
  Way wait(double now_s);
  /// The first wait after a group is over.
  void waited(double now_s);
  /// The program does something else before it waits.
  void interrupt();

 private:
  /// How long groups of about the same length took, from their beginning to the end of the wait.
  struct Times {
    std::int64_t bytes = 0;
    int held = 0;                                               ///< so many of them
    double passed_s = std::numeric_limits<double>::infinity();  ///< the least
    double held_s = std::numeric_limits<double>::infinity();
  };
  struct Pattern {
    std::vector<std::uint64_t> receivers;
    Way way;
    bool refused = false;
    int seen = 0;  ///< times in a row
    Times times;
  };
  struct Group {
    std::uint64_t key = 0;
    double began_s = 0;
    bool held = false;
  };

  [[nodiscard]] bool may_hold() const;
  [[nodiscard]] bool fits(std::int64_t bytes) const;
  [[nodiscard]] Way best_way(std::int64_t bytes) const;
  void begin_next(std::uint64_t last);

  double bytes_per_s_;
  std::unordered_map<std::uint64_t, Pattern> patterns_;  ///< by the group before and the first receiver
  std::uint64_t last_ = 0;                               ///< a hash of the group before
  Group group_;                                          ///< that has begun
  std::vector<Send> order_;  ///< of all messages since the last wait, also to ranks of this node
  std::vector<Send> sends_;
  std::vector<std::uint64_t> receivers_;
  double back_s_ = 0;
  double computes_s_ = 0;  ///< between the calls of the group
  bool spoilt_ = false;
  Group waited_for_;
  bool waits_ = false;
};

}  // namespace antiphon
