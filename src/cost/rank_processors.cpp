// SPDX-License-Identifier: Apache-2.0
#include "cost/rank_processors.hpp"

#include <algorithm>

namespace antiphon {

namespace {

/// Where one rank stands for many that share cores, all of them want the cores at the same time.
double slow_down_of(const Cluster& cluster, const Symmetry& symmetry) {
  if (symmetry.whole() || cluster.cores() == 0) return 1;
  return std::max(1.0, cluster.ranks_on_core());
}

/// Returns the core of each rank, where cores are shared: a node keeps to its own cores, as far as there are any.
std::vector<int> core_of_rank(const Cluster& cluster, const Work& work) {
  std::vector<int> cores;
  if (!work.takes_turns()) return cores;
  const int sharing = std::max(cluster.profile().processors.nodes_sharing, 1);
  for (int r = 0; r < cluster.ranks(); ++r) {
    const int one = sharing >= cluster.cores() ? cluster.node(r) : r;
    cores.push_back(cluster.node(r) / sharing * cluster.cores() + one % cluster.cores());
  }
  return cores;
}

}  // namespace

RankProcessors::RankProcessors(const Cluster& cluster, const Symmetry& symmetry, const Work& work,
                               const Messages& messages, Events& events, Program& program, std::uint32_t order_of_turns)
    : work_(work), messages_(messages), events_(events), program_(program),
      cores_(at(symmetry.period), slow_down_of(cluster, symmetry)),
      turns_(core_of_rank(cluster, work), cluster.turn_s(), order_of_turns), planned_(turns_.rings()),
      ranks_(at(symmetry.period)) {}

void RankProcessors::handle(const Event& event) {
  const auto rank = static_cast<int>(event.subject);
  switch (event.what) {
    case Event::What::taken_in: return taken_in(event.subject, event.time_s);
    case Event::What::turn: return take_turn(event);
    case Event::What::step: return step(rank, event.time_s);
    case Event::What::last_look: return last_look(rank, event.time_s);
    default: return;
  }
}

void RankProcessors::advance(int rank, double now) {
  if (!work_.takes_turns()) return program_.start_what_may(rank, now);
  of(rank).ready = true;
  ask_for_turn(rank, now);
}

void RankProcessors::ask_for_turn(int rank, double now) {
  if (turns_.running(rank)) return;
  turns_.ask(rank, now);
  plan_turn(turns_.ring_of(rank), now);
}

void RankProcessors::plan_turn(std::size_t ring, double now) {
  if (const auto next = turns_.next(ring, now))
    planned_[ring] = events_.add(next->time_s, Event::What::turn, static_cast<std::uint32_t>(ring));
}

void RankProcessors::take_turn(const Event& event) {
  const std::size_t ring = event.subject;
  // A later plan for the ring has replaced this one.
  if (planned_[ring] != event.order) return;
  const auto next = turns_.next(ring, event.time_s);
  if (!next) return;
  turns_.begin(next->rank, event.time_s);
  announce(of(next->rank));
  plan_turn(ring, event.time_s);
  step(next->rank, event.time_s);
}

/// Interrupts come first. Then the rank does one thing, and takes the next step when that is done.
void RankProcessors::step(int rank, double now) {
  Rank& own = of(rank);
  const auto subject = static_cast<std::uint32_t>(rank);
  const double free_s = run(rank, now, turns_.interrupted_s(rank));
  if (own.ready) {
    own.ready = false;
    program_.start_what_may(rank, now);
    events_.add(std::max(now, cores_.free_s(at(rank))), Event::What::step, subject);
  } else if (!own.announced.empty()) {
    end_receive(own.announced.pop(), std::max(now, free_s));
  } else if (!own.arrived.empty()) {
    const MessageId id = own.arrived.pop();
    events_.add(run(rank, now, work_.take_in_s(messages_[id])), Event::What::taken_in, id);
  } else {
    events_.add(free_s + turns_.turn_s(), Event::What::last_look, subject);
  }
}

/// This is the last look before the rank gives the core away. A rank that waits only for multicasts' packets then
/// sleeps (mpi/run/waiting.hpp).
void RankProcessors::last_look(int rank, double now) {
  Rank& own = of(rank);
  if (own.ready || !own.arrived.empty()) return step(rank, now);
  own.looked_s = now;
  if (!own.taken_in.empty()) {
    turns_.end(rank, now);
    ask_for_turn(rank, now);
  } else if (own.packets > 0 && own.messages == 0) {
    turns_.sleep(rank, now);
  } else {
    turns_.end(rank, now);
  }
  plan_turn(turns_.ring_of(rank), now);
}

/// Without turns, the receiver's work ends when the last byte has arrived, or later.
void RankProcessors::take_in(MessageId id, double now) {
  const Message& m = messages_[id];
  if (work_.takes_turns()) {
    of(m.to).arrived.push(id);
    return ask_for_turn(m.to, now);
  }
  const double work_s = work_.receive_s(*m.link, m.bytes);
  const double earliest = m.posted_s < now ? now - work_s * slow_down() : now;
  events_.add(std::max(now, run(m.to, earliest, work_s)), Event::What::taken_in, id);
}

/// The library has taken the message in. What had arrived before the rank's last look was taken in then, and is known
/// at once.
void RankProcessors::taken_in(MessageId id, double now) {
  const Message& m = messages_[id];
  const bool told_at_once = !work_.takes_turns() || m.way != Message::Way::network || m.arrived_s < of(m.to).looked_s ||
                            !work_.told_next_turn(*m.link);
  if (told_at_once) return end_receive(id, now);
  const int rank = m.to;
  of(rank).taken_in.push(id);
  step(rank, now);
}

void RankProcessors::end_receive(MessageId id, double now) {
  const int rank = messages_[id].to;
  const bool near = messages_[id].way == Message::Way::node;
  program_.receive_ends(id, now);
  if (!work_.takes_turns()) return advance(rank, now);
  if (near) announce(of(rank));
  advance(rank, now);
  step(rank, now);
}

/// The library reports what it has taken in: in the rank's next turn, or when a message within its node has come.
void RankProcessors::announce(Rank& rank) {
  while (!rank.taken_in.empty()) rank.announced.push(rank.taken_in.pop());
}

void RankProcessors::packets_left(const Message& m, double now) {
  const double took_s = work_.packets_s(m, now);
  if (took_s <= 0) return;
  if (!work_.takes_turns()) {
    (void)run(m.from, now, took_s);
    return;
  }
  turns_.interrupt(m.from, took_s, now);
  plan_turn(turns_.ring_of(m.from), now);
}

}  // namespace antiphon
