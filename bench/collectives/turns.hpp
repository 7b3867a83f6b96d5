// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <random>
#include <vector>

/// The order in which contenders take turns, and what comes before a burst of calls.
namespace bench {

/// What ranks do between two bursts, as programs do: they compute (idle connections make TCP forget its measurements)
/// or send other messages (which change TCP's windows).
struct Interlude {
  bool sends = false;
  int pause_ms = 0;
};

/// Returns the interlude of a round: the same for all contenders, which are compared, and on all ranks.
inline Interlude interlude_of(int round) {
  std::mt19937 random(20240229U + static_cast<unsigned>(round));
  std::uniform_int_distribution<int> pause_ms(50, 300);
  return {round % 2 == 1, pause_ms(random)};
}

/// Calls `turn(entrant, round)` for every entrant, round after round while `another(rounds)` is true. Each round starts
/// with another entrant, so that no one gains from its predecessor.
template <typename Entrant, typename Turn, typename Another>
void take_turns(std::vector<Entrant>& entrants, Turn turn, Another another) {
  int round = 0;
  do {
    for (std::size_t i = 0; i < entrants.size(); ++i)
      turn(entrants[(i + static_cast<std::size_t>(round)) % entrants.size()], round);
    ++round;
  } while (another(round));
}

}  // namespace bench
