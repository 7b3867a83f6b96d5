// SPDX-License-Identifier: Apache-2.0
// Ranks that share cores: each does in its turn what there is to do, then the next one looks.
#include <algorithm>

#include "cost/simulation.hpp"

namespace antiphon {

void CostSimulation::ask_for_turn(int rank, double now) {
  if (turns_.running(rank)) return;
  turns_.ask(rank, now);
  plan_turn(turns_.ring_of(rank), now);
}

void CostSimulation::plan_turn(std::size_t ring, double now) {
  const auto next = turns_.next(ring, now);
  if (!next) return;
  at(next->time_s, What::turn, static_cast<std::uint32_t>(ring));
  turn_planned_[ring] = order_;
}

void CostSimulation::take_turn(const Event& event) {
  const std::size_t ring = event.subject;
  if (turn_planned_[ring] != event.order) return;  // somebody else's came before it
  const auto next = turns_.next(ring, event.time);
  if (!next) return;
  turns_.begin(next->rank, event.time);
  notice(next->rank);
  plan_turn(ring, event.time);
  step(next->rank, event.time);
}

/// One thing after the other, as long as there is any; interrupts before it.
void CostSimulation::step(int rank, double now) {
  const auto r = static_cast<std::size_t>(rank);
  const double free_s = cores_.run(r, now, turns_.interrupted_s(rank));
  if (ready_[r]) {
    ready_[r] = false;
    go_on(rank, now);
    at(std::max(now, cores_.free_s(r)), What::step, static_cast<std::uint32_t>(rank));
  } else if (!noticed_[r].empty()) {
    const MessageId id = noticed_[r].front();
    noticed_[r].pop_front();
    received(id, std::max(now, free_s));
  } else if (!arrived_[r].empty()) {
    const MessageId id = arrived_[r].front();
    arrived_[r].pop_front();
    at(cores_.run(r, now, take_in_s(messages_[id])), What::received, id);
  } else {
    at(free_s + turns_.turn_s(), What::look, static_cast<std::uint32_t>(rank));
  }
}

/// Whether the library gives the core away between taking in what came over this link and saying so, as Open MPI does
/// with what comes over TCP (opal_progress), when it is asked again and again, as schedules do.
bool CostSimulation::pauses(const LinkClass& link) const { return link.told_next_turn.value_or(receive_pauses(link)); }

/// The same in a blocking receive, by which latencies are measured: one that finds its message there takes a round of
/// all ranks more than a send.
bool CostSimulation::receive_pauses(const LinkClass& link) const {
  return waited_s_ > 0 && link.receive_overhead.at(0) - link.send_overhead.at(0) > waited_s_;
}

/// By the library. What was there before the rank last looked was taken in then, and is known at once.
void CostSimulation::taken_in(MessageId id, double now) {
  const Message& m = messages_[id];
  const auto r = static_cast<std::size_t>(m.to);
  if (!turns_.shared() || m.near || m.multicast || m.arrived_s < looked_s_[r] || !pauses(*m.link))
    return received(id, now);
  taken_in_[r].push_back(id);
  step(m.to, now);
}

/// The library says what it has taken in: in the rank's next turn, or when something else has come to an end.
void CostSimulation::notice(int rank) {
  const auto r = static_cast<std::size_t>(rank);
  noticed_[r].insert(noticed_[r].end(), taken_in_[r].begin(), taken_in_[r].end());
  taken_in_[r].clear();
}

/// What the packets of a message that has left took of its sender's core: they are handled where they were sent.
void CostSimulation::count_packets(const Message& m, double now) {
  const double waited = std::min(1.0, (now - m.begin_s) / m.link->gap.at(m.bytes));
  const double took_s = packets_s(*m.link, m.bytes, waited);
  if (took_s <= 0) return;
  if (!turns_.shared()) {
    (void)cores_.run(static_cast<std::size_t>(m.from), now, took_s);
    return;
  }
  turns_.interrupt(m.from, took_s, now);
  plan_turn(turns_.ring_of(m.from), now);
}

/// A last look before the core is given away. Who waits for nothing but multicasts' packets then sleeps
/// (mpi/run/executor.cpp).
void CostSimulation::look(int rank, double now) {
  const auto r = static_cast<std::size_t>(rank);
  if (ready_[r] || !arrived_[r].empty()) return step(rank, now);
  looked_s_[r] = now;
  if (!taken_in_[r].empty()) {
    turns_.end(rank, now);
    ask_for_turn(rank, now);
  } else if (awaited_[r].packets > 0 && awaited_[r].messages == 0) {
    turns_.sleep(rank, now);
  } else {
    turns_.end(rank, now);
  }
  plan_turn(turns_.ring_of(rank), now);
}

}  // namespace antiphon
