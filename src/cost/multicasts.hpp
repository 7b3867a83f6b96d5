// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "antiphon/cluster.hpp"
#include "cost/events.hpp"
#include "cost/messages.hpp"
#include "cost/ports.hpp"
#include "cost/rank_processors.hpp"
#include "cost/work.hpp"

namespace antiphon {

/// Multicasts in model time: one copy leaves the sender, one goes over each link between switches, and one comes into
/// each node, where the first receiver passes it on to the others.
class Multicasts {
 public:
  Multicasts(const Cluster& cluster, const Work& work, Messages& messages, Events& events, NetworkPorts& ports,
             RankProcessors& processors)
      : cluster_(cluster), work_(work), messages_(messages), events_(events), ports_(ports), processors_(processors) {}

  struct Sent {
    double sent_s = 0;      ///< the sender's processor has handed the message over
    bool complete = false;  ///< the send is complete; else it is when `left` says so
  };
  /// A rank sends one piece to all other members of a group.
  Sent send(int rank, std::span<const std::int32_t> members, int tag, const Progress::Piece& piece, std::int64_t bytes,
            double now);
  /// Returns how a member of the group receives what `from` multicasts. The list of members stays where it is.
  [[nodiscard]] Message::Way way_to(int member, int from, std::span<const std::int32_t> members);
  /// A copy may leave.
  void leave(MessageId id, double now);
  /// A copy is at its node's port. Returns when the send is complete, if that is known from this copy.
  std::optional<double> left(MessageId id, double now);
  /// The receiver has its copy, and passes it on within its node.
  void pass_on(MessageId id, double now);

 private:
  /// What one node receives of a multicast.
  struct Copy {
    Route route;
    bool completes_send = false;
    std::vector<MessageId> followers;  ///< the copies for the node's other ranks
  };

  Copy& copy(MessageId id) {
    if (copies_.size() <= id) copies_.resize(id + std::size_t{1});
    return copies_[id];
  }
  MessageId post_copy(int rank, int member, int tag, double now);

  const Cluster& cluster_;
  const Work& work_;
  Messages& messages_;
  Events& events_;
  NetworkPorts& ports_;
  RankProcessors& processors_;
  std::vector<Copy> copies_;  ///< by message
  /// By member and its list of a group's members: whether it is the first one of its node.
  std::map<std::pair<int, const std::int32_t*>, bool> first_of_node_;
};

}  // namespace antiphon
