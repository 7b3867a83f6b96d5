// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/gathered.hpp"

namespace antiphon::allgather_by_concurrent_exchange {

namespace {

constexpr Parameter parameters[] = {
    {"concurrency", Role::at_once, 2, 1, 8, "groups, and so messages under way in each direction"},
    {"piece_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per piece; 0 sends whole messages"},
    {"window", Role::ahead, 2, 1, 1024, "pieces of a message ahead of what comes in from the same group"},
};

/// P ranks in C groups of consecutive ranks, as even as possible.
class Groups {
 public:
  Groups(int ranks, int groups) : base_(ranks / groups), longer_(ranks % groups), count_(groups) {}
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] int first(int g) const { return g * base_ + std::min(g, longer_); }
  [[nodiscard]] int size(int g) const { return base_ + (g < longer_ ? 1 : 0); }
  [[nodiscard]] int group_of(int rank) const {
    int g = 0;
    while (g + 1 < count_ && first(g + 1) <= rank) ++g;
    return g;
  }
  /// All groups have the same power of two of ranks: pairs exchange, as in the paper.
  [[nodiscard]] bool paired() const { return longer_ == 0 && std::has_single_bit(static_cast<unsigned>(base_)); }

 private:
  int base_, longer_, count_;
};

/// What place `place` of a group of n sends in the step of this distance (0: before the first): a run of its group's
/// blocks.
std::vector<BlockRun> runs_sent(const Groups& groups, int g, int place, int distance) {
  const int n = groups.size(g);
  if (distance == 0) return {{groups.first(g) + place, 1}};
  if (groups.paired()) return {{groups.first(g) + (place & ~(distance - 1)), distance}};
  return ring_runs(groups.first(g), n, place, std::min(distance, n - distance));
}

/// Which place of a group of n ranks sends to those at `place` of any group.
int source_place(const Groups& groups, int n, int place, int distance) {
  return groups.paired() ? place ^ distance : (place + distance) % n;
}

/// Paper 4, §3.1, with C groups. First every rank sends its block to its peer in each other group. Then, in each of
/// log2(P/C) steps, it sends what it has of its own group to its pair and to the peers of its pair in the other groups,
/// so that C messages are under way in each direction. Groups of one power of two exchange in pairs; any other P has
/// groups that differ by at most one rank, in which blocks go round as in the Bruck algorithm (a rank beyond a shorter
/// group follows that group's first place). Cost: log2(P/C) (L + C·o) + (P−1) g(m). For networks and switches that
/// carry several streams per port at once.
Schedule build(const Problem& p) {
  Schedule s;
  const Groups groups(p.size, static_cast<int>(std::min<std::int64_t>(p.parameter("concurrency"), p.size)));
  const int mine = groups.group_of(p.rank);
  const int my_place = p.rank - groups.first(mine);
  GatheredBlocks blocks(s, p, cut_of(p, "piece_bytes"));
  std::vector<OpId> have{blocks.own()};
  for (int distance = 0; distance < groups.size(0); distance = distance == 0 ? 1 : 2 * distance) {
    std::vector<OpId> arriving;
    for (int turn = 0; turn < groups.count(); ++turn) {
      // Each rank begins with its own group and goes round from there, so that not all begin with the same group.
      const int source_group = (mine + groups.count() - turn) % groups.count();
      const int target_group = (mine + turn) % groups.count();
      std::vector<OpId> received;
      if ((distance > 0 || source_group != mine) && distance < groups.size(source_group)) {
        const int place = source_place(groups, groups.size(source_group), my_place, distance);
        received = blocks.recv(groups.first(source_group) + place, runs_sent(groups, source_group, place, distance), 0);
        if (source_group == mine) arriving = received;
      }
      if ((distance == 0 && target_group == mine) || distance >= groups.size(mine)) continue;
      for (int place = 0; place < groups.size(target_group); ++place) {
        if (source_place(groups, groups.size(mine), place, distance) != my_place) continue;
        blocks.send(groups.first(target_group) + place, runs_sent(groups, mine, my_place, distance), have, 0);
      }
    }
    have.insert(have.end(), arriving.begin(), arriving.end());
  }
  return s;
}

}  // namespace

extern const Algorithm allgather{
    .collective = Collective::allgather,
    .name = "concurrent_exchange",
    .summary = "exchanges in several groups at once (concurrency index); short and medium blocks",
    .parameters = parameters,
    .build = build,
};

extern const Algorithm allgatherv{
    .collective = Collective::allgatherv,
    .name = "concurrent_exchange",
    .summary = "exchanges in several groups at once (concurrency index); short and medium blocks",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::allgather_by_concurrent_exchange
