// SPDX-License-Identifier: Apache-2.0
#include "cost/connections.hpp"

#include <utility>

#include "antiphon/ethernet.hpp"

namespace antiphon {

namespace {

/// Short messages of a stream fill packets together, while a single message has headers of its own. The latency L
/// already contains their time, but a token bucket counts them: here as bytes of payload.
constexpr double own_header_bytes = ethernet::header_bytes * ethernet::payload_share;
/// A message that is on the wire for so much of its gap counts as if it were there for all of it.
constexpr double nearly_all = 0.98;

}  // namespace

bool Connections::hand_over(MessageId id) {
  Message& m = messages_[id];
  Connection& connection = *m.connection;
  m.given_bytes = connection.given_bytes += static_cast<double>(m.bytes);
  const double held = connection.given_bytes - connection.sent_bytes;
  if (held <= static_cast<double>(m.link->send_buffer_bytes)) return true;
  connection.unfinished.push(id);
  return false;
}

void Connections::leave(MessageId id, double now) {
  if (answer_waits(id, now)) return;
  Connection& connection = *messages_[id].connection;
  connection.queue.push(id);
  if (!connection.busy()) start_next(connection, now);
}

/// The answer to a rendezvous takes the same connection as the messages of its receiver, and cannot pass them. Where
/// both messages begin within one latency, both announcements arrive before an answer, and the messages go side by
/// side.
bool Connections::answer_waits(MessageId id, double now) {
  const Message& m = messages_[id];
  if (!m.rendezvous() || m.way == Message::Way::node || !symmetry_.whole()) return false;
  const auto found = connections_.find(key(m.to, m.from));
  if (found == connections_.end() || !found->second.busy()) return false;
  const Message& before = messages_[found->second.under_way];
  if (!before.rendezvous() || before.begin_s + m.link->latency_s >= now) return false;
  found->second.answers.push_back(id);
  return true;
}

/// The bytes under way have left, so the answers leave now.
void Connections::answer(Connection& connection, double now) {
  for (const MessageId id : std::exchange(connection.answers, {}))
    events_.add(now + messages_[id].link->latency_s, Event::What::leave, id);
}

void Connections::start_next(Connection& connection, double now) {
  const bool alone = !connection.busy();
  if (connection.queue.empty()) {
    connection.under_way = no_message;
    connection.idle_since_s = now;
    return;
  }
  connection.under_way = connection.queue.pop();
  start(connection.under_way, now, alone);
}

void Connections::start(MessageId id, double now, bool alone) {
  Message& m = messages_[id];
  m.begin_s = now;
  const double gap_s = m.link->gap.at(m.bytes);
  const int from_node = cluster_.node(m.from);
  if (m.way == Message::Way::node || gap_s <= 0) {
    events_.add(now + (work_.fetched(m) ? 0 : work_.node_gap_s(m)), Event::What::left, id);
    return;
  }
  const double headers = alone && cluster_.entry(from_node).burst_bytes > 0 ? own_header_bytes : 0;
  const double bytes = static_cast<double>(m.bytes) + own_header_bytes;
  const double volume = ports_.volume(from_node, gap_s, m.link) + headers;
  const Route route = this->route(m, bytes / volume);
  ports_.enqueue(id, from_node, bytes, route, now, alone ? now - m.connection->idle_since_s : 0);
  ports_.start(id, volume, route, now);
}

Route Connections::route(const Message& m, double on_wire) {
  Route route = ports_.route(cluster_.node(m.from), cluster_.node(m.to));
  ports_.add_tree(route, cluster_.node(m.connection->from), cluster_.node(m.connection->to), symmetry_.exchange);
  if (work_.ranks_work_at_once() && on_wire < nearly_all)
    route.put_between(rank_port(m.from, Side::send), rank_port(m.to, Side::receive), on_wire);
  add_connection(route, m);
  add_ranks(route, m);
  return route;
}

/// In the rest of its gap a message keeps its own ranks busy. Others of their nodes use the ports meanwhile.
ResourceId Connections::rank_port(int rank, Side side) {
  const auto [found, is_new] = rank_ports_.try_emplace(key(rank, side == Side::send ? 0 : 1));
  if (is_new) found->second = ports_.add_limit(cluster_.entry(cluster_.node(rank)).port_bytes_per_s);
  return found->second;
}

/// A connection that is slower than the ports is on the way, too, each way by itself and both ways together.
void Connections::add_connection(Route& route, const Message& m) {
  Connection& connection = *m.connection;
  if (const double rate = m.link->connection_way_bytes_per_s; rate > 0) {
    if (!connection.own_rate) connection.own_rate = ports_.add_limit(rate);
    route.add_before_last(*connection.own_rate);
  }
  const double rate = m.link->connection_bytes_per_s;
  if (rate <= 0) return;
  const Symmetry::Pair pair = symmetry_.pair_of(connection.from, connection.to);
  const auto [found, is_new] = both_ways_.try_emplace(key(pair.rank, pair.far));
  if (is_new) found->second = ports_.add_limit(pair.both_ways ? rate / 2 : rate);
  route.add_before_last(found->second);
}

/// What a rank sends and receives passes its core. A rank that stands for sender and receiver does both for a message.
void Connections::add_ranks(Route& route, const Message& m) {
  const double rate = cluster_.profile().processors.rank_bytes_per_s;
  if (rate <= 0) return;
  const auto core = [&](int rank) {
    const auto [found, is_new] = cores_.try_emplace(rank);
    if (is_new) found->second = ports_.add_limit(rate);
    return found->second;
  };
  route.add_before_last(core(m.from), m.from == m.to ? 2 : 1);
  if (m.from != m.to) route.add_before_last(core(m.to));
}

/// The sender of a rendezvous is done when its message has left. As eager messages leave, the system takes over more of
/// what is to be sent.
std::span<const MessageId> Connections::left(MessageId id, double now) {
  const Message& m = messages_[id];
  Connection& connection = *m.connection;
  answer(connection, now);
  start_next(connection, now);
  complete_.clear();
  if (m.rendezvous()) {
    if (!work_.fetched(m)) complete_.push_back(id);
    return complete_;
  }
  connection.sent_bytes += static_cast<double>(m.bytes);
  const auto buffer_bytes = static_cast<double>(m.link->send_buffer_bytes);
  while (!connection.unfinished.empty()) {
    const Message& next = messages_[connection.unfinished.front()];
    if (next.given_bytes - connection.sent_bytes > buffer_bytes) break;
    complete_.push_back(connection.unfinished.pop());
  }
  return complete_;
}

}  // namespace antiphon
