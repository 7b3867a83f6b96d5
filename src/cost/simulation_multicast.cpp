// SPDX-License-Identifier: Apache-2.0
// Multicasts in model time: one copy leaves the sender, one goes over each link between switches, one comes into each
// node, which passes it on among its ranks.
#include <algorithm>
#include <map>
#include <set>

#include "antiphon/error.hpp"
#include "cost/simulation.hpp"

namespace antiphon {

namespace {

/// Sends of at most so many bytes are copied by the transport: the sender goes on (mpi/multicast/lanes.cpp).
constexpr std::int64_t most_copied_bytes = 65536;

int multicast_tag(int tag) { return tag ^ (1 << 30); }

}  // namespace

/// One receiver's copy, matched with its receive if that is posted.
CostSimulation::MessageId CostSimulation::copy_to(int rank, int member, const Op& op, double now) {
  Matching& match = matching(member, symmetry_.distance(rank, member), multicast_tag(op.tag));
  const bool expected = !match.posted.empty();
  const MessageId id = expected ? match.posted.pop() : new_message();
  if (!expected) match.sent.push(id);
  Message& m = messages_[id];
  m.from = rank;
  m.to = member;
  m.link = &machine_.link(rank, member);
  m.multicast = true;
  m.sent_s = m.begin_s = now;
  return id;
}

void CostSimulation::post_multicast(int rank, const Op& op, const Progress::Piece& piece, double now) {
  if (!symmetry_.whole()) throw InvalidArgument("multicasts have no symmetry");
  const MulticastLink& way = machine_.profile().multicast;
  if (!way.works) throw InvalidArgument("multicast does not work on this machine, by its profile");
  const auto r = static_cast<std::size_t>(rank);
  const auto& members = schedules_[r].groups()[static_cast<std::size_t>(op.group)];
  result_.pieces += static_cast<std::int64_t>(members.size());
  if (result_.pieces > options_.max_pieces)
    throw InvalidArgument("more than " + std::to_string(options_.max_pieces) + " pieces: too many to evaluate");
  const std::int64_t bytes = op.piece_size(piece.index);
  const int from_node = machine_.node(rank);
  const LinkClass& link = machine_.profile().link_class(Scope::same_switch);
  std::set<int> nodes;
  for (const int member : members) nodes.insert(machine_.node(member));
  const double sent_s = cores_.run(r, now, multicast_send_work_s(link, bytes, nodes.size() - nodes.count(from_node)));
  result_.rank_end_s[r] = std::max(result_.rank_end_s[r], sent_s);
  std::map<int, MessageId> first_of_node;
  std::set<int> switches{machine_.entry(from_node).switch_index};
  bool leads = true;
  for (const int member : members) {
    if (member == rank) continue;
    const MessageId id = copy_to(rank, member, op, now);
    Message& m = messages_[id];
    m.bytes = bytes;
    m.send = piece;
    const int node = machine_.node(member);
    const auto [leader, fresh] = first_of_node.try_emplace(node, id);
    if (!fresh) {
      messages_[leader->second].followers.push_back(id);
      continue;
    }
    if (node == from_node) {
      at(sent_s + m.link->latency_s + m.link->gap.at(bytes), What::arrive, id);
      continue;
    }
    m.leads = leads;
    m.between = switches.insert(machine_.entry(node).switch_index).second;
    at(sent_s, What::leave, id);
    leads = false;
  }
  // Nobody waits for it to be acknowledged, or nobody is to hear it over the wire.
  if (bytes <= most_copied_bytes || leads) progress_[r]->complete(piece);
  else ++awaited_[r].packets;
}

/// Whether the rank gets what it is to receive as a multicast's packets: as the first of its node.
bool CostSimulation::hears(int rank, const Op& op) const {
  if (op.group < 0) return false;
  const auto& members = schedules_[static_cast<std::size_t>(rank)].groups()[static_cast<std::size_t>(op.group)];
  const int node = machine_.node(rank);
  return node != machine_.node(op.peer) &&
         std::none_of(members.begin(), std::find(members.begin(), members.end(), rank),
                      [&](int member) { return machine_.node(member) == node; });
}

/// After what its sender handed over before.
void CostSimulation::multicast_leaves(MessageId id, double now) {
  const Message& m = messages_[id];
  const int from_node = machine_.node(m.from);
  const double gap_s = std::max(machine_.profile().multicast.gap.at(m.bytes), 1e-9);
  const Route route = ports_.multicast_route(from_node, machine_.node(m.to), m.leads, m.between);
  const FlowId flow = ports_.network().start(ports_.volume(from_node, gap_s), route, now);
  if (message_of_flow_.size() <= flow) message_of_flow_.resize(flow + 1, none);
  message_of_flow_[flow] = id;
}

/// What multicasts cost processors where all ranks send them in turn, if that was measured: half of it is the sender's,
/// of whose core the packet's way to each node is the work (nodes that share cores have no switch but these). What is
/// longer than a packet costs more as any message does; it goes beside the wire.
double CostSimulation::multicast_send_work_s(const LinkClass& link, std::int64_t bytes, std::size_t nodes) const {
  const double work_s = send_work_s(link, bytes);
  const double crowded_s = crowded_multicast_s();
  return crowded_s > 0 ? crowded_s / 2 * static_cast<double>(nodes) + work_s - send_work_s(link, 0) : work_s;
}

double CostSimulation::packet_work_s(const Message& m) const {
  const std::int64_t bytes = std::min(m.bytes, m.link->eager_bytes);
  const double work_s = receive_work_s(*m.link, bytes);
  const double crowded_s = m.packet ? crowded_multicast_s() : 0;
  return crowded_s > 0 ? crowded_s / 2 + work_s - receive_work_s(*m.link, 0) : work_s;
}

/// A copy is at its node's port. The sender of a long message goes on when all have acknowledged it.
void CostSimulation::multicast_ended(MessageId id, double now) {
  const Message& m = messages_[id];
  const MulticastLink& way = machine_.profile().multicast;
  at(now + way.latency_s, What::arrive, id);
  if (!m.leads || m.bytes <= most_copied_bytes) return;
  const int sender = m.from;
  double& end = result_.rank_end_s[static_cast<std::size_t>(sender)];
  end = std::max(end, now + way.latency_s + way.acknowledge_s);
  --awaited_[static_cast<std::size_t>(sender)].packets;
  progress_[static_cast<std::size_t>(sender)]->complete(m.send);
  advance(sender, now);
}

/// The node's other ranks have it from its first, one after the other, once that has it.
void CostSimulation::pass_on(MessageId id, double now) {
  const auto followers = std::move(messages_[id].followers);
  const auto from = static_cast<std::size_t>(messages_[id].to);
  double at_s = now;
  for (const MessageId follower : followers) {
    const LinkClass& link = machine_.link(messages_[id].to, messages_[follower].to);
    const std::int64_t bytes = messages_[follower].bytes;
    at_s = turns_.shared() ? cores_.run(from, at_s, send_work_s(link, bytes)) : at_s + link.gap.at(bytes);
    at(at_s + arrives_after_s(link, bytes), What::arrive, follower);
  }
}

}  // namespace antiphon
