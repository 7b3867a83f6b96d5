// SPDX-License-Identifier: Apache-2.0
#include "cost/turns.hpp"

#include <algorithm>
#include <cmath>

namespace antiphon {

Turns::Turns(int ranks, int ranks_on_cores, int cores, double turn_s)
    : ranks_on_cores_(std::max(ranks_on_cores, 1)), turn_s_(turn_s), running_(static_cast<std::size_t>(ranks), false) {
  if (cores <= 0) return;
  for (int first = 0; first < ranks; first += ranks_on_cores_) {
    const int size = std::min(ranks_on_cores_, ranks - first);
    rings_.push_back({first, size, 0, 0.0, cores, {}});
  }
}

/// Those who found nothing since have had their turns.
void Turns::go_round(Ring& ring, double now) const {
  if (ring.free > 0 && turn_s_ > 0 && now > ring.since) {
    const double turns = std::floor((now - ring.since) * ring.free / turn_s_);
    ring.at = static_cast<int>(std::fmod(ring.at + turns, ring.size));
    ring.since += turns * turn_s_ / ring.free;
  } else {
    ring.since = std::max(ring.since, now);
  }
}

void Turns::ask(int rank, double now) {
  Ring& ring = rings_[ring_of(rank)];
  go_round(ring, now);
  ring.asking.insert(rank - ring.first);
}

std::optional<Turns::Next> Turns::next(std::size_t index, double now) {
  Ring& ring = rings_[index];
  if (ring.asking.empty() || ring.free == 0) return std::nullopt;
  go_round(ring, now);
  auto found = ring.asking.lower_bound(ring.at);
  if (found == ring.asking.end()) found = ring.asking.begin();
  const int away = (*found - ring.at + ring.size) % ring.size;
  return Next{std::max(now, ring.since + away * turn_s_ / ring.free), ring.first + *found};
}

void Turns::begin(int rank, double now) {
  Ring& ring = rings_[ring_of(rank)];
  running_[static_cast<std::size_t>(rank)] = true;
  ring.asking.erase(rank - ring.first);
  ring.at = (rank - ring.first + 1) % ring.size;
  ring.since = now;
  --ring.free;
}

void Turns::end(int rank, double now) {
  Ring& ring = rings_[ring_of(rank)];
  running_[static_cast<std::size_t>(rank)] = false;
  go_round(ring, now);
  ++ring.free;
}

}  // namespace antiphon
