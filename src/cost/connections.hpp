// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "antiphon/cluster.hpp"
#include "cost/events.hpp"
#include "cost/messages.hpp"
#include "cost/ports.hpp"
#include "cost/symmetry.hpp"
#include "cost/work.hpp"
#include "schedule/fifo.hpp"

namespace antiphon {

/// The connection from one rank to another.
struct Connection {
  int from = 0;
  int to = 0;
  Fifo<MessageId> queue;       ///< may leave, behind what is under way
  Fifo<MessageId> unfinished;  ///< their sends are not complete, since the system has not taken them over
  double given_bytes = 0;
  double sent_bytes = 0;
  MessageId under_way = no_message;
  std::vector<MessageId> answers;  ///< messages the other way; each waits for an answer behind what is under way here
  double idle_since_s = -std::numeric_limits<double>::infinity();
  std::optional<ResourceId> own_rate;  ///< where a connection is slower than the ports

  [[nodiscard]] bool busy() const { return under_way != no_message; }
};

/// Messages between two ranks leave one after the other.
class Connections {
 public:
  Connections(const Cluster& cluster, const Symmetry& symmetry, const Work& work, Messages& messages, Events& events,
              NetworkPorts& ports)
      : cluster_(cluster), symmetry_(symmetry), work_(work), messages_(messages), events_(events), ports_(ports) {}

  [[nodiscard]] Connection& between(int from, int to) {
    Connection& connection = connections_[key(from, to)];
    connection.from = from;
    connection.to = to;
    return connection;
  }
  /// An eager message is sent. Returns whether the system takes it over at once, so that its send is complete.
  bool hand_over(MessageId id);
  /// The message may leave: at once, or behind the messages before it.
  void leave(MessageId id, double now);
  /// The message's last byte has left. Returns all messages of this sender with a send that is now complete. The result
  /// is valid until the next call.
  std::span<const MessageId> left(MessageId id, double now);

 private:
  static std::uint64_t key(int from, int to) {
    return static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint64_t>(to);
  }
  bool answer_waits(MessageId id, double now);
  void answer(Connection& connection, double now);
  void start_next(Connection& connection, double now);
  void start(MessageId id, double now, bool alone);
  /// The message is on the wire for this part of its gap.
  [[nodiscard]] Route route(const Message& message, double on_wire);
  ResourceId rank_port(int rank, Side side);
  void add_connection(Route& route, const Message& message);
  void add_ranks(Route& route, const Message& message);

  const Cluster& cluster_;
  const Symmetry& symmetry_;
  const Work& work_;
  Messages& messages_;
  Events& events_;
  NetworkPorts& ports_;
  std::unordered_map<std::uint64_t, Connection> connections_;
  std::unordered_map<std::uint64_t, ResourceId> both_ways_;   ///< what the two directions of a connection share
  std::unordered_map<int, ResourceId> cores_;                 ///< by rank: what all that it sends and receives shares
  std::unordered_map<std::uint64_t, ResourceId> rank_ports_;  ///< what all that a rank sends, or receives, shares
  std::vector<MessageId> complete_;
};

}  // namespace antiphon
