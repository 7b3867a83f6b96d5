// SPDX-License-Identifier: Apache-2.0
#include "cost/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "antiphon/error.hpp"
#include "antiphon/index.hpp"

namespace antiphon {

namespace {

using Awaits = RankProcessors::Awaits;

Awaits awaited(const Message& m) { return m.way == Message::Way::packet ? Awaits::packet : Awaits::message; }

/// Returns when a rendezvous may leave: its receiver's answer is back by then.
double leave_s(const Message& m) {
  const double asking_s = m.link->latency_s + m.link->gap.at(0);
  return m.sent_s + std::max(0.0, m.posted_s - (m.sent_s + asking_s));
}

}  // namespace

CostSimulation::CostSimulation(std::span<const Schedule> schedules, const Cluster& cluster, const Symmetry& symmetry,
                               const EvaluationOptions& options)
    : schedules_(schedules), cluster_(cluster), symmetry_(symmetry), options_(options), work_(cluster, symmetry),
      ports_(cluster, symmetry.period),
      processors_(cluster, symmetry_, work_, messages_, events_, *this, options.order),
      connections_(cluster, symmetry_, work_, messages_, events_, ports_),
      multicasts_(cluster, work_, messages_, events_, ports_, processors_) {
  if (schedules.size() != at(symmetry.period) || cluster.ranks() != symmetry.ranks) {
    throw InvalidArgument("the machine has " + std::to_string(cluster.ranks()) + " ranks, the schedules are for " +
                          std::to_string(schedules.size()));
  }
  for (const Schedule& s : schedules) progress_.push_back(std::make_unique<Progress>(s));
  result_.rank_end_s.assign(schedules.size(), 0.0);
  for (const auto& marks : options.marks) result_.marks_s.emplace_back(marks.size(), 0.0);
}

Evaluation CostSimulation::run() {
  for (int rank = 0; rank < symmetry_.period; ++rank) processors_.advance(rank, 0);
  while (true) {
    if (ports_.rate_updates() > options_.max_rate_updates) {
      result_.given_up = true;
      return std::move(result_);
    }
    const double event_s = events_.next_s();
    const double flow_s = ports_.next_s(event_s);
    if (std::isinf(flow_s) && std::isinf(event_s)) break;
    if (std::min(flow_s, event_s) > options_.max_seconds) {
      result_.seconds = std::numeric_limits<double>::infinity();
      return std::move(result_);
    }
    if (flow_s > event_s) handle(events_.pop());
    else if (const auto id = ports_.advance()) left(*id, flow_s);
  }
  check_end();
  for (const double end_s : result_.rank_end_s) result_.seconds = std::max(result_.seconds, end_s);
  return std::move(result_);
}

void CostSimulation::handle(const Event& event) {
  const MessageId id = event.subject;
  switch (event.what) {
    case Event::What::leave:
      return messages_[id].multicast() ? multicasts_.leave(id, event.time_s) : connections_.leave(id, event.time_s);
    case Event::What::left: return left(id, event.time_s);
    case Event::What::arrive: return arrived(id, event.time_s);
    default: return processors_.handle(event);
  }
}

void CostSimulation::start_what_may(int rank, double now) {
  Progress& progress = *progress_[at(rank)];
  Piece piece;
  while (progress.next(piece)) {
    const Op& op = schedules_[at(rank)].ops()[piece.op];
    switch (op.kind) {
      case OpKind::send: post_send(rank, op, piece, now); break;
      case OpKind::recv: post_receive(rank, op, piece, now); break;
      case OpKind::multicast: post_multicast(rank, op, piece, now); break;
      default: compute(rank, op, piece, now); break;
    }
  }
}

/// Encoding and decoding count as copying; the profile's codecs hold the extra cost of a codec.
void CostSimulation::compute(int rank, const Op& op, const Piece& piece, double now) {
  const Processors& memory = cluster_.profile().processors;
  const double bytes_per_s = op.kind == OpKind::reduce ? memory.reduce_bytes_per_s : memory.copy_bytes_per_s;
  const double end_s = processors_.run(rank, now, static_cast<double>(op.piece_size(piece.index)) / bytes_per_s);
  busy_until(rank, end_s);
  if (!options_.marks.empty()) mark(rank, piece.op, end_s);
  progress_[at(rank)]->complete(piece);
}

void CostSimulation::post_send(int rank, const Op& op, const Piece& piece, double now) {
  if (op.peer < 0 || op.peer >= symmetry_.ranks)
    throw InvalidArgument("a message to rank " + std::to_string(op.peer) + ", which does not exist");
  count_pieces(1);
  const int far = symmetry_.distance(rank, op.peer);
  const int to = symmetry_.standing_for(rank, far);
  const int from = symmetry_.before(to, far);
  const auto [id, expected] = messages_.post({from, to, op.tag, false}, Side::send);
  Message& m = messages_[id];
  m.from = rank;
  m.to = to;
  m.bytes = op.piece_size(piece.index);
  m.link =
      symmetry_.whole() ? &cluster_.link(rank, op.peer) : &cluster_.link_of_most(rank, op.peer, symmetry_.exchange);
  m.connection = &connections_.between(from, to);
  m.send = piece;
  m.way = cluster_.node(rank) == cluster_.node(op.peer) ? Message::Way::node : Message::Way::network;
  m.protocol = m.bytes > m.link->eager_bytes ? Message::Protocol::rendezvous : Message::Protocol::eager;
  const double work_s = work_.send_s(*m.link, m.bytes);
  const double end_s = processors_.run(rank, now, work_s);
  m.sent_s = end_s - work_s * processors_.slow_down();
  busy_until(rank, end_s);
  processors_.await(rank, Awaits::message);
  if (!m.rendezvous() && connections_.hand_over(id)) send_ends(m);
  m.stage = m.rendezvous() && !expected ? Message::Stage::announced : Message::Stage::leaving;
  if (m.stage == Message::Stage::leaving) events_.add(m.rendezvous() ? leave_s(m) : m.sent_s, Event::What::leave, id);
}

void CostSimulation::post_receive(int rank, const Op& op, const Piece& piece, double now) {
  if (op.peer < 0 || op.peer >= symmetry_.ranks)
    throw InvalidArgument("a message from rank " + std::to_string(op.peer) + ", which does not exist");
  const bool multicast = op.group >= 0;
  const MessageId id = messages_.post({op.peer, rank, op.tag, multicast}, Side::receive).id;
  Message& m = messages_[id];
  m.recv = piece;
  m.to = rank;
  m.posted_s = now;
  if (multicast) m.way = multicasts_.way_to(rank, op.peer, schedules_[at(rank)].groups()[at(op.group)]);
  processors_.await(rank, awaited(m));
  if (m.stage == Message::Stage::arrived) {
    processors_.take_in(id, now);
  } else if (m.stage == Message::Stage::announced) {
    m.stage = Message::Stage::leaving;
    events_.add(std::max(now, leave_s(m)), Event::What::leave, id);
  }
}

void CostSimulation::post_multicast(int rank, const Op& op, const Piece& piece, double now) {
  if (!symmetry_.whole()) throw InvalidArgument("multicasts have no symmetry");
  if (!cluster_.profile().multicast.works)
    throw InvalidArgument("multicast does not work on this machine, by its profile");
  const auto& members = schedules_[at(rank)].groups()[at(op.group)];
  count_pieces(members.size());
  const auto [sent_s, complete] = multicasts_.send(rank, members, op.tag, piece, op.piece_size(piece.index), now);
  busy_until(rank, sent_s);
  if (complete) progress_[at(rank)]->complete(piece);
  else processors_.await(rank, Awaits::packet);
}

void CostSimulation::arrived(MessageId id, double now) {
  Message& m = messages_[id];
  m.stage = Message::Stage::arrived;
  m.arrived_s = now;
  if (m.posted()) processors_.take_in(id, now);
}

void CostSimulation::left(MessageId id, double now) {
  const Message& m = messages_[id];
  const int sender = m.from;
  if (m.multicast()) {
    const auto complete_s = multicasts_.left(id, now);
    if (!complete_s) return;
    busy_until(sender, *complete_s);
    processors_.settle(sender, Awaits::packet);
    progress_[at(sender)]->complete(m.send);
    return processors_.advance(sender, now);
  }
  const double delay_s = m.way == Message::Way::node ? 0 : ports_.delay_s(id, now);
  processors_.packets_left(m, now);
  events_.add(now + delay_s + work_.arrives_after_s(*m.link, m.bytes), Event::What::arrive, id);
  const auto complete = connections_.left(id, now);
  if (complete.empty()) return;
  for (const MessageId sent : complete) send_ends(messages_[sent]);
  busy_until(sender, now);
  processors_.advance(sender, now);
}

void CostSimulation::receive_ends(MessageId id, double now) {
  const Message m = messages_[id];
  if (m.multicast()) multicasts_.pass_on(id, now);
  messages_.release(id);
  if (options_.transfers) result_.transfers.push_back({m.from, m.to, m.bytes, m.begin_s, now});
  busy_until(m.to, now);
  processors_.settle(m.to, awaited(m));
  progress_[at(m.to)]->complete(m.recv);
  if (!work_.fetched(m)) return;
  send_ends(m);
  busy_until(m.from, now);
  processors_.advance(m.from, now);
}

/// Ends the send of a message that is no multicast.
void CostSimulation::send_ends(const Message& m) {
  processors_.settle(m.from, Awaits::message);
  progress_[at(m.from)]->complete(m.send);
}

void CostSimulation::busy_until(int rank, double time_s) {
  double& end_s = result_.rank_end_s[at(rank)];
  end_s = std::max(end_s, time_s);
}

void CostSimulation::count_pieces(std::size_t pieces) {
  result_.pieces += static_cast<std::int64_t>(pieces);
  if (result_.pieces > options_.max_pieces)
    throw InvalidArgument("more than " + std::to_string(options_.max_pieces) + " pieces: too many to evaluate");
}

void CostSimulation::mark(int rank, OpId op, double now) {
  const auto& marks = options_.marks[at(rank)];
  const auto found = std::lower_bound(marks.begin(), marks.end(), op);
  if (found != marks.end() && *found == op)
    result_.marks_s[at(rank)][static_cast<std::size_t>(found - marks.begin())] = now;
}

void CostSimulation::check_end() const {
  for (std::size_t r = 0; r < progress_.size(); ++r) {
    if (!progress_[r]->done()) throw InvalidArgument("deadlock: rank " + std::to_string(r) + " cannot go on");
  }
}

Evaluation evaluate(std::span<const Schedule> schedules, const Cluster& cluster, const EvaluationOptions& options) {
  const auto ranks = static_cast<int>(schedules.size());
  return CostSimulation(schedules, cluster, {ranks, ranks, false}, options).run();
}

}  // namespace antiphon
