// SPDX-License-Identifier: Apache-2.0
#include "cost/turns.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace antiphon {

CoreTurns::CoreTurns(std::span<const int> core_of_rank, double turn_s, std::uint32_t order) : turn_s_(turn_s) {
  for (std::size_t rank = 0; rank < core_of_rank.size(); ++rank) {
    const auto core = static_cast<std::size_t>(core_of_rank[rank]);
    if (rings_.size() <= core) rings_.resize(core + 1);
    states_.push_back({core});
    rings_[core].ranks.push_back(static_cast<int>(rank));
  }
  if (order == 0) return;
  std::mt19937 random(order);
  for (Ring& ring : rings_) {
    for (std::size_t i = ring.ranks.size(); i > 1; --i) std::swap(ring.ranks[i - 1], ring.ranks[random() % i]);
  }
}

std::size_t CoreTurns::place_of(const Ring& ring, int rank) {
  return static_cast<std::size_t>(std::find(ring.ranks.begin(), ring.ranks.end(), rank) - ring.ranks.begin());
}

/// Up to `now`, interrupts take their time first; then ranks that find nothing to do take their turns.
void CoreTurns::go_round(Ring& ring, double now) const {
  if (ring.running == nobody && ring.owed > 0 && now > ring.since) {
    const double taken = std::min(ring.owed, now - ring.since);
    ring.owed -= taken;
    ring.since += taken;
  }
  if (ring.running == nobody && turn_s_ > 0 && now > ring.since && !ring.ranks.empty()) {
    const double turns = std::floor((now - ring.since) / turn_s_);
    ring.at = static_cast<std::size_t>(
        std::fmod(static_cast<double>(ring.at) + turns, static_cast<double>(ring.ranks.size())));
    ring.since += turns * turn_s_;
  } else {
    ring.since = std::max(ring.since, now);
  }
}

void CoreTurns::ask(int rank, double now) {
  State& state = states_[static_cast<std::size_t>(rank)];
  Ring& ring = rings_[state.ring];
  go_round(ring, now);
  state.asks = true;
  if (!state.sleeps) return;
  state.sleeps = false;
  // The rank joins behind all ranks that are awake, but before the one that is running.
  const std::size_t last = ring.running == nobody ? ring.at : place_of(ring, ring.running);
  ring.ranks.insert(ring.ranks.begin() + static_cast<std::ptrdiff_t>(last), rank);
  ring.at = (ring.at + (ring.at >= last ? 1 : 0)) % ring.ranks.size();
}

std::optional<CoreTurns::Next> CoreTurns::next(std::size_t index, double now) {
  Ring& ring = rings_[index];
  if (ring.running != nobody) return std::nullopt;
  go_round(ring, now);
  const std::size_t size = ring.ranks.size();
  for (std::size_t away = 0; away < size; ++away) {
    const int rank = ring.ranks[(ring.at + away) % size];
    if (states_[static_cast<std::size_t>(rank)].asks)
      return Next{std::max(now, ring.since + ring.owed + static_cast<double>(away) * turn_s_), rank};
  }
  return std::nullopt;
}

void CoreTurns::begin(int rank, double now) {
  Ring& ring = rings_[ring_of(rank)];
  go_round(ring, now);
  states_[static_cast<std::size_t>(rank)].asks = false;
  ring.running = rank;
  ring.at = (place_of(ring, rank) + 1) % ring.ranks.size();
  ring.since = now;
}

void CoreTurns::end(int rank, double now) {
  Ring& ring = rings_[ring_of(rank)];
  go_round(ring, now);
  ring.running = nobody;
}

void CoreTurns::interrupt(int rank, double seconds, double now) {
  Ring& ring = rings_[ring_of(rank)];
  go_round(ring, now);
  ring.owed += seconds;
}

double CoreTurns::interrupted_s(int rank) { return std::exchange(rings_[ring_of(rank)].owed, 0.0); }

void CoreTurns::sleep(int rank, double now) {
  end(rank, now);
  Ring& ring = rings_[ring_of(rank)];
  const std::size_t place = place_of(ring, rank);
  ring.ranks.erase(ring.ranks.begin() + static_cast<std::ptrdiff_t>(place));
  if (ring.at > place) --ring.at;
  if (ring.at >= ring.ranks.size()) ring.at = 0;
  states_[static_cast<std::size_t>(rank)].sleeps = true;
}

}  // namespace antiphon
