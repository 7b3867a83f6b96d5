// SPDX-License-Identifier: Apache-2.0
#include "cost/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "antiphon/error.hpp"
#include "antiphon/ethernet.hpp"

namespace antiphon {

namespace {

/// In a stream short messages fill packets together; one that is alone has headers to itself. Their time is in L
/// already, but a bucket counts them: here as bytes of payload.
constexpr double own_header_bytes = ethernet::header_bytes * ethernet::payload_share;

/// Multicasts match by themselves.
int multicast_tag(int tag) { return tag ^ (1 << 30); }

/// The one to a rank from that `far` before it.
std::uint64_t connection_to(int rank, int far) {
  return static_cast<std::uint64_t>(rank) << 32 | static_cast<std::uint64_t>(far);
}

/// Where one rank stands for many that share cores, all of them want the cores at the same time.
double slow_down(const Machine& machine, const Symmetry& symmetry) {
  if (symmetry.whole() || machine.cores() == 0) return 1;
  return std::max(1.0, machine.ranks_on_core());
}

/// The core of each rank, where cores are shared: a node keeps to its own, as far as there are any.
std::vector<int> core_of_rank(const Machine& machine, const Symmetry& symmetry) {
  std::vector<int> cores;
  if (!symmetry.whole() || machine.cores() == 0) return cores;
  const int sharing = std::max(machine.profile().processors.nodes_sharing, 1);
  for (int r = 0; r < machine.ranks(); ++r) {
    const int one = sharing >= machine.cores() ? machine.node(r) : r;
    cores.push_back(machine.node(r) / sharing * machine.cores() + one % machine.cores());
  }
  return cores;
}

/// How long a message waits, on average, until its receiver has its turn, with `crowd` ranks on each core.
double wait_s(const Processors& processors, double crowd) {
  return crowd > 1 ? processors.turn_with(crowd) * crowd / 2 : 0;
}

/// When the latency was measured.
double crowd_then(const Profile& profile) {
  const Processors& p = profile.processors;
  if (p.cores_per_node == 0) return 0;
  return static_cast<double>(std::min(p.nodes_sharing, profile.machine.nodes)) * profile.machine.ranks_per_node /
         p.cores_per_node;
}

}  // namespace

CostSimulation::CostSimulation(std::span<const Schedule> schedules, const Machine& machine, const Symmetry& symmetry,
                               const EvaluationOptions& options)
    : schedules_(schedules), machine_(machine), symmetry_(symmetry), options_(options),
      ports_(machine, symmetry.period), cores_(schedules.size(), slow_down(machine, symmetry)),
      turns_(core_of_rank(machine, symmetry), machine.turn_s(), options.order), turn_planned_(turns_.rings()),
      awaited_(schedules.size()), ready_(schedules.size(), false), arrived_(schedules.size()),
      taken_in_(schedules.size()), noticed_(schedules.size()), looked_s_(schedules.size(), -1.0),
      waited_s_(wait_s(machine.profile().processors, crowd_then(machine.profile()))),
      notice_s_(wait_s(machine.profile().processors, machine.ranks_on_core())) {
  if (schedules.size() != static_cast<std::size_t>(symmetry.period) || machine.ranks() != symmetry.ranks) {
    throw InvalidArgument("the machine has " + std::to_string(machine.ranks()) + " ranks, the schedules are for " +
                          std::to_string(schedules.size()));
  }
  for (const Schedule& s : schedules) progress_.push_back(std::make_unique<Progress>(s));
  result_.rank_end_s.assign(schedules.size(), 0.0);
  for (const auto& marks : options.marks) result_.marks_s.emplace_back(marks.size(), 0.0);
}

Evaluation CostSimulation::run() {
  for (std::size_t r = 0; r < schedules_.size(); ++r) {
    advance(static_cast<int>(r), 0);
  }
  FlowNetwork& network = ports_.network();
  while (true) {
    if (network.rate_updates() > options_.max_rate_updates) {
      result_.given_up = true;
      return std::move(result_);
    }
    const double event_s = events_.empty() ? std::numeric_limits<double>::infinity() : events_.top().time;
    const double flow_s =
        event_s <= network.moment_s() ? std::numeric_limits<double>::infinity() : network.next_event();
    if (std::isinf(flow_s) && std::isinf(event_s)) break;
    if (flow_s <= event_s) {
      FlowId ended = 0;
      if (network.advance(ended)) flow_ended(message_of_flow_[ended], flow_s);
    } else {
      const Event event = events_.top();
      events_.pop();
      handle(event);
    }
  }
  check_end();
  for (std::size_t r = 0; r < result_.rank_end_s.size(); ++r) {
    result_.seconds = std::max(result_.seconds, result_.rank_end_s[r]);
  }
  return std::move(result_);
}

void CostSimulation::handle(const Event& event) {
  switch (event.what) {
    case What::leave:
      if (messages_[event.subject].multicast) multicast_leaves(event.subject, event.time);
      else enqueue(event.subject, event.time);
      break;
    case What::flow_end: flow_ended(event.subject, event.time); break;
    case What::arrive:
      messages_[event.subject].arrived_s = event.time;
      if (messages_[event.subject].posted_s >= 0) receive(event.subject, event.time);
      break;
    case What::received: taken_in(event.subject, event.time); break;
    case What::turn: take_turn(event); break;
    case What::step: step(static_cast<int>(event.subject), event.time); break;
    case What::look: look(static_cast<int>(event.subject), event.time); break;
  }
}

void CostSimulation::mark(std::size_t rank, OpId op, double now) {
  const auto& marks = options_.marks[rank];
  const auto found = std::lower_bound(marks.begin(), marks.end(), op);
  if (found != marks.end() && *found == op)
    result_.marks_s[rank][static_cast<std::size_t>(found - marks.begin())] = now;
}

/// Something may start: at once, or in the rank's next turn.
void CostSimulation::advance(int rank, double now) {
  if (!turns_.shared()) return go_on(rank, now);
  ready_[static_cast<std::size_t>(rank)] = true;
  ask_for_turn(rank, now);
}

/// Starts what the rank may start, one operation after the other.
void CostSimulation::go_on(int rank, double now) {
  const auto r = static_cast<std::size_t>(rank);
  Progress& progress = *progress_[r];
  const Processors& memory = machine_.profile().processors;
  Progress::Piece piece;
  while (progress.next(piece)) {
    const Op& op = schedules_[r].ops()[piece.op];
    if (op.kind == OpKind::send) {
      post_send(rank, op, piece, now);
    } else if (op.kind == OpKind::recv) {
      post_recv(rank, op, piece, now);
    } else if (op.kind == OpKind::multicast) {
      post_multicast(rank, op, piece, now);
    } else {
      // Encoding and decoding count as copying; what a codec costs more is in the profile's codecs.
      const double rate = op.kind == OpKind::reduce ? memory.reduce_bytes_per_s : memory.copy_bytes_per_s;
      const double end = cores_.run(r, now, static_cast<double>(op.piece_size(piece.index)) / rate);
      result_.rank_end_s[r] = std::max(result_.rank_end_s[r], end);
      if (!options_.marks.empty()) mark(r, piece.op, end);
      progress.complete(piece);
    }
  }
}

CostSimulation::MessageId CostSimulation::new_message() {
  if (!free_.empty()) {
    const MessageId id = free_.back();
    free_.pop_back();
    messages_[id] = {};
    return id;
  }
  messages_.emplace_back();
  return static_cast<MessageId>(messages_.size() - 1);
}

CostSimulation::Matching& CostSimulation::matching(int to, int far, int tag) {
  const auto place = static_cast<std::uint64_t>(to) << 44 | static_cast<std::uint64_t>(far) << 22;
  return matchings_[(place ^ static_cast<std::uint64_t>(static_cast<std::uint32_t>(tag))) * 0x9e3779b97f4a7c15ULL];
}

void CostSimulation::post_send(int rank, const Op& op, const Progress::Piece& piece, double now) {
  if (op.peer < 0 || op.peer >= symmetry_.ranks)
    throw InvalidArgument("a message to rank " + std::to_string(op.peer) + ", which does not exist");
  if (++result_.pieces > options_.max_pieces)
    throw InvalidArgument("more than " + std::to_string(options_.max_pieces) + " pieces: too many to evaluate");
  const auto r = static_cast<std::size_t>(rank);
  const int far = symmetry_.distance(rank, op.peer);
  const int to = symmetry_.standing_for(rank, far);
  Matching& match = matching(to, far, op.tag);
  const bool expected = !match.posted.empty();
  const MessageId id = expected ? match.posted.pop() : new_message();
  if (!expected) match.sent.push(id);
  Message& m = messages_[id];
  m.from = rank;
  m.to = to;
  m.bytes = op.piece_size(piece.index);
  m.link = &machine_.link(rank, op.peer);
  m.connection = connection_to(to, far);
  m.send = piece;
  m.near = machine_.node(rank) == machine_.node(op.peer);
  const double overhead = send_work_s(*m.link, m.bytes);
  const double end = cores_.run(r, now, overhead);
  m.sent_s = end - overhead * cores_.slow_down();
  result_.rank_end_s[r] = std::max(result_.rank_end_s[r], end);
  m.waits = m.bytes > m.link->eager_bytes;
  ++awaited_[r].messages;
  if (!m.waits) {
    Connection& connection = connections_[m.connection];
    m.given_bytes = connection.given_bytes += static_cast<double>(m.bytes);
    const double held = connection.given_bytes - connection.sent_bytes;
    if (held <= static_cast<double>(m.link->send_buffer_bytes)) sent(rank, piece);
    else connection.unfinished.push(id);
  }
  if (!m.waits || expected) {
    m.queued = true;
    const double asked = m.link->latency_s + m.link->gap.at(0);
    at(m.waits ? m.sent_s + std::max(0.0, m.posted_s - (m.sent_s + asked)) : m.sent_s, What::leave, id);
  }
}

void CostSimulation::post_recv(int rank, const Op& op, const Progress::Piece& piece, double now) {
  if (op.peer < 0 || op.peer >= symmetry_.ranks)
    throw InvalidArgument("a message from rank " + std::to_string(op.peer) + ", which does not exist");
  Matching& match = matching(rank, symmetry_.distance(op.peer, rank), op.group >= 0 ? multicast_tag(op.tag) : op.tag);
  const bool sent = !match.sent.empty();
  const MessageId id = sent ? match.sent.pop() : new_message();
  if (!sent) match.posted.push(id);
  Message& m = messages_[id];
  m.recv = piece;
  m.to = rank;
  m.posted_s = now;
  m.packet = hears(rank, op);
  Awaited& awaited = awaited_[static_cast<std::size_t>(rank)];
  ++(m.packet ? awaited.packets : awaited.messages);
  if (!sent) return;
  if (m.arrived_s >= 0) receive(id, now);
  else if (m.waits && !m.queued) {
    m.queued = true;
    const double asked = m.link->latency_s + m.link->gap.at(0);
    at(std::max(now, m.sent_s + std::max(0.0, now - (m.sent_s + asked))), What::leave, id);
  }
}

/// The answer to a long message's announcement takes the same connection as what its receiver sends, and cannot pass
/// that. Where both begin within a latency their announcements are there before either has its answer, and the messages
/// go side by side.
bool CostSimulation::answer_waits(MessageId id, double now) {
  const Message& m = messages_[id];
  if (!m.waits || m.near || !symmetry_.whole()) return false;
  const auto found = connections_.find(connection_to(m.from, symmetry_.distance(m.to, m.from)));
  if (found == connections_.end() || !found->second.busy) return false;
  const Message& before = messages_[found->second.under_way];
  if (!before.waits || before.begin_s + m.link->latency_s >= now) return false;
  found->second.answers.push_back(id);
  return true;
}

/// What was under way has left: now the answers do.
void CostSimulation::answer(Connection& connection, double now) {
  for (const MessageId id : std::exchange(connection.answers, {}))
    at(now + messages_[id].link->latency_s, What::leave, id);
}

void CostSimulation::enqueue(MessageId id, double now) {
  if (answer_waits(id, now)) return;
  Connection& connection = connections_[messages_[id].connection];
  connection.queue.push(id);
  if (!connection.busy) start_next(connection, now);
}

void CostSimulation::start_next(Connection& connection, double now) {
  if (connection.queue.empty()) {
    connection.busy = false;
    connection.idle_since_s = now;
    return;
  }
  const bool alone = !connection.busy;
  connection.busy = true;
  const MessageId id = connection.under_way = connection.queue.pop();
  Message& m = messages_[id];
  m.begin_s = now;
  const double gap = m.link->gap.at(m.bytes);
  const int from_node = machine_.node(m.from);
  if (m.near || gap <= 0) {
    at(now + (fetched(m) ? 0 : near_gap_s(m)), What::flow_end, id);
    return;
  }
  const double headers = alone && machine_.entry(from_node).burst_bytes > 0 ? own_header_bytes : 0;
  const double volume = ports_.volume(from_node, gap) + headers;
  const Route route = ports_.route(from_node, machine_.node(m.to));
  ports_.send(id, from_node, static_cast<double>(m.bytes) + own_header_bytes, route, now,
              alone ? now - connection.idle_since_s : 0);
  const FlowId flow = ports_.network().start(volume, route, now);
  if (message_of_flow_.size() <= flow) message_of_flow_.resize(flow + 1, none);
  message_of_flow_[flow] = id;
}

/// Within a node. A message that its receiver fetches was measured from turn to turn of both: those are counted by
/// themselves here.
double CostSimulation::near_gap_s(const Message& m) const {
  const double gap_s = m.link->gap.at(m.bytes);
  return m.waits ? std::max(gap_s - 2 * waited_s_, std::min(gap_s, m.link->gap.at(m.link->eager_bytes))) : gap_s;
}

/// A send that is not a multicast is complete.
void CostSimulation::sent(int rank, const Progress::Piece& piece) {
  --awaited_[static_cast<std::size_t>(rank)].messages;
  progress_[static_cast<std::size_t>(rank)]->complete(piece);
}

void CostSimulation::flow_ended(MessageId id, double now) {
  const Message m = messages_[id];
  if (m.multicast) return multicast_ended(id, now);
  const double delay_s = m.near ? 0 : ports_.delay_s(id, now);
  if (!m.near && crowded(*m.link) && !m.link->saturated.points().empty()) count_packets(m, now);
  at(now + delay_s + arrives_after_s(*m.link, m.bytes), What::arrive, id);
  Connection& connection = connections_[m.connection];
  answer(connection, now);
  start_next(connection, now);
  if (!m.waits) {
    connection.sent_bytes += static_cast<double>(m.bytes);
    finish_sends(connection, *m.link, now);
    return;
  }
  if (!fetched(m)) long_sent(m, now);
}

/// The sender of a long message is done when it has left.
void CostSimulation::long_sent(const Message& m, double now) {
  sent(m.from, m.send);
  double& end = result_.rank_end_s[static_cast<std::size_t>(m.from)];
  end = std::max(end, now);
  advance(m.from, now);
}

/// The system takes over more of what is to be sent: those sends are complete.
void CostSimulation::finish_sends(Connection& connection, const LinkClass& link, double now) {
  int rank = -1;
  while (!connection.unfinished.empty()) {
    const Message& m = messages_[connection.unfinished.front()];
    if (m.given_bytes - connection.sent_bytes > static_cast<double>(link.send_buffer_bytes)) break;
    rank = m.from;
    sent(rank, m.send);
    connection.unfinished.pop();
  }
  if (rank < 0) return;
  double& end = result_.rank_end_s[static_cast<std::size_t>(rank)];
  end = std::max(end, now);
  advance(rank, now);
}

/// After the last byte has left; where ranks take turns, without what the receiver's turns and its work then add to it.
double CostSimulation::arrives_after_s(const LinkClass& link, std::int64_t bytes) const {
  const double waits = receive_pauses(link) ? 3 : 1;  // half a round of all ranks each
  const double later_s = turns_.shared() ? receive_work_s(link, bytes) : -waits * notice_s_;
  return std::max(0.0, link.latency_s - waits * waited_s_ - later_s);
}

/// Arrived and asked for: the receiver's processor takes it in; its work ends when the last byte is there, or later.
void CostSimulation::receive(MessageId id, double now) {
  const Message& m = messages_[id];
  if (turns_.shared()) {
    arrived_[static_cast<std::size_t>(m.to)].push_back(id);
    return ask_for_turn(m.to, now);
  }
  const double overhead = receive_work_s(*m.link, m.bytes);
  const double earliest = m.posted_s < now ? now - overhead * cores_.slow_down() : now;
  at(std::max(now, cores_.run(static_cast<std::size_t>(m.to), earliest, overhead)), What::received, id);
}

void CostSimulation::received(MessageId id, double now) {
  pass_on(id, now);
  const Message m = messages_[id];
  free_.push_back(id);
  if (options_.transfers) result_.transfers.push_back({m.from, m.to, m.bytes, m.begin_s, now});
  double& end = result_.rank_end_s[static_cast<std::size_t>(m.to)];
  end = std::max(end, now);
  Awaited& awaited = awaited_[static_cast<std::size_t>(m.to)];
  --(m.packet ? awaited.packets : awaited.messages);
  progress_[static_cast<std::size_t>(m.to)]->complete(m.recv);
  if (fetched(m)) long_sent(m, now);
  if (m.near && turns_.shared()) notice(m.to);
  advance(m.to, now);
  if (turns_.shared()) step(m.to, now);
}

void CostSimulation::check_end() const {
  for (std::size_t r = 0; r < progress_.size(); ++r) {
    if (!progress_[r]->done()) throw InvalidArgument("deadlock: rank " + std::to_string(r) + " cannot go on");
  }
}

Evaluation evaluate(std::span<const Schedule> schedules, const Machine& machine, const EvaluationOptions& options) {
  const auto ranks = static_cast<int>(schedules.size());
  return CostSimulation(schedules, machine, {ranks, ranks, false}, options).run();
}

}  // namespace antiphon
