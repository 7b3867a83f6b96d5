// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <limits>
#include <memory>
#include <queue>
#include <unordered_map>

#include "antiphon/cost.hpp"
#include "antiphon/progress.hpp"
#include "cost/cores.hpp"
#include "cost/ports.hpp"
#include "cost/symmetry.hpp"
#include "cost/turns.hpp"

namespace antiphon {

/// Runs schedules on a machine in model time. One rank of each that `symmetry` keeps apart; what such a rank sends to a
/// rank so far away is what it gets from one as far away on the other side.
class CostSimulation {
 public:
  CostSimulation(std::span<const Schedule> schedules, const Machine& machine, const Symmetry& symmetry,
                 const EvaluationOptions& options);
  Evaluation run();

 private:
  using MessageId = std::uint32_t;
  static constexpr MessageId none = UINT32_MAX;

  /// A queue that costs nothing while it is empty: there are as many as pairs of ranks.
  class Fifo {
   public:
    [[nodiscard]] bool empty() const { return first_ == ids_.size(); }
    void push(MessageId id) { ids_.push_back(id); }
    [[nodiscard]] MessageId front() const { return ids_[first_]; }
    MessageId pop() {
      const MessageId id = ids_[first_++];
      if (empty()) {
        ids_.clear();
        first_ = 0;
      }
      return id;
    }

   private:
    std::vector<MessageId> ids_;
    std::size_t first_ = 0;
  };

  struct Message {
    int from = 0;  ///< the rank that stands for the sender
    int to = 0;    ///< and for the receiver
    std::int64_t bytes = 0;
    const LinkClass* link = nullptr;
    std::uint64_t connection = 0;
    Progress::Piece send, recv;
    double sent_s = -1;      ///< the sender began
    double posted_s = -1;    ///< the receiver was ready
    double begin_s = 0;      ///< on the wire
    double arrived_s = -1;   ///< at the receiver's node
    double given_bytes = 0;  ///< to its connection, up to its end
    bool near = false;       ///< on one node
    bool multicast = false;
    bool leads = false;                ///< of a multicast's copies, the one that ends the send
    bool between = false;              ///< … and one that is the first to pass the links to its switch
    std::vector<MessageId> followers;  ///< a multicast's copies that this one's receiver passes on within its node
    bool waits = false;                ///< for its receive, before it may leave
    bool queued = false;
    bool packet = false;  ///< its receiver waits for a multicast's packet, not for the library's message
  };
  /// What a rank waits for. For packets alone it need not poll.
  struct Awaited {
    int messages = 0;
    int packets = 0;
  };
  /// Messages between two ranks leave one after the other.
  struct Connection {
    Fifo queue;
    Fifo unfinished;  ///< sends that are not complete, since the system has not taken them over
    double given_bytes = 0;
    double sent_bytes = 0;
    MessageId under_way = none;  ///< while busy
    std::vector<MessageId>
        answers;  ///< messages of the other way that wait for an answer behind what is under way here
    double idle_since_s = -std::numeric_limits<double>::infinity();
    bool busy = false;
  };
  struct Matching {
    Fifo sent;    ///< no receive posted yet
    Fifo posted;  ///< nothing sent yet
  };
  enum class What : std::uint8_t { leave, flow_end, arrive, received, turn, step, look };
  struct Event {
    double time = 0;
    std::uint64_t order = 0;
    What what = What::leave;
    std::uint32_t subject = none;  ///< a message; of a turn, the ring; of a step or look, the rank
    bool operator<(const Event& other) const { return time != other.time ? time > other.time : order > other.order; }
  };

  void advance(int rank, double now);
  void go_on(int rank, double now);
  void ask_for_turn(int rank, double now);
  void plan_turn(std::size_t ring, double now);
  void take_turn(const Event& event);
  void step(int rank, double now);
  void look(int rank, double now);
  void taken_in(MessageId id, double now);
  void notice(int rank);
  [[nodiscard]] bool pauses(const LinkClass& link) const;
  [[nodiscard]] bool receive_pauses(const LinkClass& link) const;
  void mark(std::size_t rank, OpId op, double now);
  void post_send(int rank, const Op& op, const Progress::Piece& piece, double now);
  void post_multicast(int rank, const Op& op, const Progress::Piece& piece, double now);
  MessageId copy_to(int rank, int member, const Op& op, double now);
  void multicast_leaves(MessageId id, double now);
  void multicast_ended(MessageId id, double now);
  void pass_on(MessageId id, double now);
  void post_recv(int rank, const Op& op, const Progress::Piece& piece, double now);
  Matching& matching(int to, int far, int tag);
  MessageId new_message();
  void enqueue(MessageId id, double now);
  bool answer_waits(MessageId id, double now);
  void answer(Connection& connection, double now);
  void start_next(Connection& connection, double now);
  void flow_ended(MessageId id, double now);
  void long_sent(const Message& m, double now);
  void sent(int rank, const Progress::Piece& piece);
  void finish_sends(Connection& connection, const LinkClass& link, double now);
  [[nodiscard]] static double work_s(const LinkClass& link, const Curve& overhead, std::int64_t bytes);
  [[nodiscard]] double near_gap_s(const Message& m) const;
  /// Its receiver copies it, in its turn.
  [[nodiscard]] bool fetched(const Message& m) const { return m.near && m.waits && turns_.shared(); }
  [[nodiscard]] double take_in_s(const Message& m) const;
  [[nodiscard]] double crowded_multicast_s() const {
    return machine_.cores() > 0 ? machine_.profile().multicast.crowded_s : 0;
  }
  [[nodiscard]] double multicast_send_work_s(const LinkClass& link, std::int64_t bytes, std::size_t nodes) const;
  [[nodiscard]] double packet_work_s(const Message& m) const;
  [[nodiscard]] bool crowded(const LinkClass& link) const {
    return machine_.cores() > 0 && !link.crowded.points().empty();
  }
  [[nodiscard]] static double crowded_work_s(const LinkClass& link, std::int64_t bytes);
  [[nodiscard]] static double packets_s(const LinkClass& link, std::int64_t bytes, double waited);
  void count_packets(const Message& m, double now);
  [[nodiscard]] double send_work_s(const LinkClass& link, std::int64_t bytes) const;
  [[nodiscard]] double receive_work_s(const LinkClass& link, std::int64_t bytes) const;
  void receive(MessageId id, double now);
  void received(MessageId id, double now);
  void handle(const Event& event);
  void at(double time, What what, std::uint32_t subject) { events_.push({time, ++order_, what, subject}); }
  [[nodiscard]] bool hears(int rank, const Op& op) const;
  [[nodiscard]] double arrives_after_s(const LinkClass& link, std::int64_t bytes) const;
  void check_end() const;

  std::span<const Schedule> schedules_;
  const Machine& machine_;
  Symmetry symmetry_;
  EvaluationOptions options_;
  NetworkPorts ports_;
  Cores cores_;
  Turns turns_;
  std::vector<std::uint64_t> turn_planned_;     ///< by ring: the order of the event that counts
  std::vector<Awaited> awaited_;                ///< by rank
  std::vector<bool> ready_;                     ///< by rank: something may start or go on
  std::vector<std::deque<MessageId>> arrived_;  ///< by rank: asked for and there, not taken in yet
  std::vector<std::deque<MessageId>>
      taken_in_;                                ///< by rank: by the library, which gave the core away before it said so
  std::vector<std::deque<MessageId>> noticed_;  ///< by rank: of those, what it is told in this turn
  std::vector<double> looked_s_;                ///< by rank: when it last looked what has come
  double waited_s_ = 0;  ///< in the measured latency: until a receiver that shared its core had its turn
  double notice_s_ = 0;  ///< the same here, where one rank stands for many
  std::vector<std::unique_ptr<Progress>> progress_;
  std::vector<Message> messages_;
  std::vector<MessageId> free_;
  std::unordered_map<std::uint64_t, Connection> connections_;
  std::unordered_map<std::uint64_t, Matching> matchings_;
  std::vector<MessageId> message_of_flow_;
  std::priority_queue<Event> events_;
  std::uint64_t order_ = 0;
  Evaluation result_;
};

}  // namespace antiphon
