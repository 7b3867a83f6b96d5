// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "antiphon/cluster.hpp"
#include "antiphon/index.hpp"
#include "cost/cores.hpp"
#include "cost/events.hpp"
#include "cost/messages.hpp"
#include "cost/symmetry.hpp"
#include "cost/turns.hpp"
#include "cost/work.hpp"

namespace antiphon {

/// Decides when each rank does its work: at once where it has a core of its own, else in its turn, in which it does one
/// thing after the other before the next rank looks.
class RankProcessors {
 public:
  /// The interface of the work that ranks do.
  class Program {
   public:
    /// Starts everything that the rank may start.
    virtual void start_what_may(int rank, double now) = 0;
    /// The receiver has the message. The message's number is free after that.
    virtual void receive_ends(MessageId id, double now) = 0;

   protected:
    ~Program() = default;
  };
  enum class Awaits : std::uint8_t { message, packet };

  RankProcessors(const Cluster& cluster, const Symmetry& symmetry, const Work& work, const Messages& messages,
                 Events& events, Program& program, std::uint32_t order_of_turns);

  /// The rank computes for `seconds`, but not before `earliest`. Returns when it ends.
  double run(int rank, double earliest, double seconds) { return cores_.run(at(rank), earliest, seconds); }
  /// Returns how many times longer everything takes.
  [[nodiscard]] double slow_down() const { return cores_.slow_down(); }

  /// The rank waits for one more message, or for one less. It may sleep while it waits only for packets.
  void await(int rank, Awaits what) { ++awaited(rank, what); }
  void settle(int rank, Awaits what) { --awaited(rank, what); }

  /// The rank may be able to start something.
  void advance(int rank, double now);
  /// The message has arrived and its receive is posted, so the receiver takes it in.
  void take_in(MessageId id, double now);
  /// The message has left, and its packets took time of its sender's core.
  void packets_left(const Message& message, double now);
  /// Handles the events taken_in, turn, step and last_look.
  void handle(const Event& event);

 private:
  struct Rank {
    int messages = 0;           ///< that it waits for
    int packets = 0;            ///< that it waits for
    bool ready = false;         ///< something may start
    double looked_s = -1;       ///< when it last looked for what has come
    Fifo<MessageId> arrived;    ///< asked for and there, not taken in
    Fifo<MessageId> taken_in;   ///< by the library, which gave the core away before it reported this
    Fifo<MessageId> announced;  ///< of those, what the library reports in this turn
  };

  [[nodiscard]] Rank& of(int rank) { return ranks_[at(rank)]; }
  [[nodiscard]] int& awaited(int rank, Awaits what) {
    return what == Awaits::packet ? of(rank).packets : of(rank).messages;
  }
  void ask_for_turn(int rank, double now);
  void plan_turn(std::size_t ring, double now);
  void take_turn(const Event& event);
  void step(int rank, double now);
  void last_look(int rank, double now);
  void taken_in(MessageId id, double now);
  void end_receive(MessageId id, double now);
  void announce(Rank& rank);

  const Work& work_;
  const Messages& messages_;
  Events& events_;
  Program& program_;
  Cores cores_;
  CoreTurns turns_;
  std::vector<std::uint64_t> planned_;  ///< by ring: the order of the event that counts
  std::vector<Rank> ranks_;
};

}  // namespace antiphon
