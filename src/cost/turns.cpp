// SPDX-License-Identifier: Apache-2.0
#include "cost/turns.hpp"

#include <algorithm>
#include <cmath>

namespace antiphon {

Turns::Turns(std::span<const int> core_of_rank, double turn_s) : turn_s_(turn_s) {
  for (std::size_t rank = 0; rank < core_of_rank.size(); ++rank) {
    const auto core = static_cast<std::size_t>(core_of_rank[rank]);
    if (rings_.size() <= core) rings_.resize(core + 1);
    places_.push_back({core, static_cast<int>(rings_[core].ranks.size())});
    rings_[core].ranks.push_back(static_cast<int>(rank));
  }
}

/// Those who found nothing since have had their turns.
void Turns::go_round(Ring& ring, double now) const {
  if (ring.running == nobody && turn_s_ > 0 && now > ring.since) {
    const double turns = std::floor((now - ring.since) / turn_s_);
    ring.at = static_cast<int>(std::fmod(ring.at + turns, static_cast<double>(ring.ranks.size())));
    ring.since += turns * turn_s_;
  } else {
    ring.since = std::max(ring.since, now);
  }
}

void Turns::ask(int rank, double now) {
  Ring& ring = rings_[ring_of(rank)];
  go_round(ring, now);
  ring.asking.insert(places_[static_cast<std::size_t>(rank)].place);
}

std::optional<Turns::Next> Turns::next(std::size_t index, double now) {
  Ring& ring = rings_[index];
  if (ring.asking.empty() || ring.running != nobody) return std::nullopt;
  go_round(ring, now);
  auto found = ring.asking.lower_bound(ring.at);
  if (found == ring.asking.end()) found = ring.asking.begin();
  const auto size = static_cast<int>(ring.ranks.size());
  const int away = (*found - ring.at + size) % size;
  return Next{std::max(now, ring.since + away * turn_s_), ring.ranks[static_cast<std::size_t>(*found)]};
}

void Turns::begin(int rank, double now) {
  const auto& [index, place] = places_[static_cast<std::size_t>(rank)];
  Ring& ring = rings_[index];
  ring.running = rank;
  ring.asking.erase(place);
  ring.at = (place + 1) % static_cast<int>(ring.ranks.size());
  ring.since = now;
}

void Turns::end(int rank, double now) {
  Ring& ring = rings_[ring_of(rank)];
  go_round(ring, now);
  ring.running = nobody;
}

}  // namespace antiphon
