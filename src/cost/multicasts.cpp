// SPDX-License-Identifier: Apache-2.0
#include "cost/multicasts.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace antiphon {

namespace {

/// The transport copies messages up to this size, and their sender continues at once (mpi/multicast/lanes.cpp).
constexpr std::int64_t most_copied_bytes = 65536;
constexpr double least_gap_s = 1e-9;

}  // namespace

MessageId Multicasts::post_copy(int rank, int member, int tag, double now) {
  const MessageId id = messages_.post({rank, member, tag, true}, Side::send).id;
  Message& m = messages_[id];
  m.from = rank;
  m.to = member;
  m.link = &cluster_.link(rank, member);
  m.stage = Message::Stage::leaving;
  m.sent_s = m.begin_s = now;
  return id;
}

Multicasts::Sent Multicasts::send(int rank, std::span<const std::int32_t> members, int tag,
                                  const Progress::Piece& piece, std::int64_t bytes, double now) {
  const int from_node = cluster_.node(rank);
  std::set<int> nodes;
  for (const int member : members) nodes.insert(cluster_.node(member));
  const LinkClass& link = cluster_.profile().link_class(Scope::same_switch);
  const std::size_t other_nodes = nodes.size() - nodes.count(from_node);
  const double sent_s = processors_.run(rank, now, work_.multicast_send_s(link, bytes, other_nodes));
  std::map<int, MessageId> first_of_node;
  std::set<int> switches{cluster_.entry(from_node).switch_index};
  bool on_wire = false;
  for (const int member : members) {
    if (member == rank) continue;
    const MessageId id = post_copy(rank, member, tag, now);
    Message& m = messages_[id];
    m.bytes = bytes;
    m.send = piece;
    m.way = Message::Way::passed_on;
    const int node = cluster_.node(member);
    const auto [first, is_first] = first_of_node.try_emplace(node, id);
    if (!is_first) {
      copy(first->second).followers.push_back(id);
    } else if (node == from_node) {
      events_.add(sent_s + m.link->latency_s + m.link->gap.at(bytes), Event::What::arrive, id);
    } else {
      m.way = Message::Way::packet;
      const bool crosses = switches.insert(cluster_.entry(node).switch_index).second;
      copy(id) = {ports_.multicast_route(from_node, node, !on_wire, crosses), !on_wire, {}};
      on_wire = true;
      events_.add(sent_s, Event::What::leave, id);
    }
  }
  // No sender waits for the acknowledgement of a copied message, or of a message without receivers on other nodes.
  return {sent_s, bytes <= most_copied_bytes || !on_wire};
}

Message::Way Multicasts::way_to(int member, int from, std::span<const std::int32_t> members) {
  const int node = cluster_.node(member);
  if (cluster_.node(from) == node) return Message::Way::passed_on;
  const auto [found, is_new] = first_of_node_.try_emplace({member, members.data()});
  if (is_new) {
    const auto first =
        std::find_if(members.begin(), members.end(), [&](int other) { return cluster_.node(other) == node; });
    found->second = first == members.end() || *first == member;
  }
  return found->second ? Message::Way::packet : Message::Way::passed_on;
}

void Multicasts::leave(MessageId id, double now) {
  const Message& m = messages_[id];
  const double gap_s = std::max(cluster_.profile().multicast.gap.at(m.bytes), least_gap_s);
  ports_.start(id, ports_.volume(cluster_.node(m.from), gap_s), copy(id).route, now);
}

/// The sender of a long message continues when all receivers have acknowledged it; that time is known from its first
/// copy.
std::optional<double> Multicasts::left(MessageId id, double now) {
  const MulticastLink& link = cluster_.profile().multicast;
  events_.add(now + link.latency_s, Event::What::arrive, id);
  if (!copy(id).completes_send || messages_[id].bytes <= most_copied_bytes) return std::nullopt;
  return now + link.latency_s + link.acknowledge_s;
}

/// The copies are handed over one after the other.
void Multicasts::pass_on(MessageId id, double now) {
  const int from = messages_[id].to;
  double at_s = now;
  for (const MessageId follower : std::exchange(copy(id).followers, {})) {
    const LinkClass& link = cluster_.link(from, messages_[follower].to);
    const std::int64_t bytes = messages_[follower].bytes;
    at_s = work_.takes_turns() ? processors_.run(from, at_s, work_.send_s(link, bytes)) : at_s + link.gap.at(bytes);
    events_.add(at_s + work_.arrives_after_s(link, bytes), Event::What::arrive, follower);
  }
}

}  // namespace antiphon
