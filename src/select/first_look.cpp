// SPDX-License-Identifier: Apache-2.0
#include "select/first_look.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "cost/values.hpp"
#include "cost/ways.hpp"

namespace antiphon {

bool few_stand_for_all(Collective collective, const Cluster& cluster) {
  return cluster.ranks() > most_ranks && cluster.cores() == 0 && has_blocks(collective) && !has_root(collective);
}

FirstLook look_at(const PredictedCall& call, const Choice& choice, const Cluster& cluster) {
  FirstLook look;
  const std::array<int, 3> some{0, 1, cluster.ranks() / 2};
  const bool one = cluster.ranks() > most_ranks && !has_root(call.collective);
  const std::span<const int> ranks(some.data(), one ? 1 : some.size());
  for (const int rank : ranks) {
    const Schedule schedule =
        choice.algorithm->build(problem_of(call, rank, cluster.ranks(), *choice.algorithm, choice.parameters));
    if (choice.algorithm->levels) look.composed = std::max(look.composed, std::ssize(schedule.ops()));
    std::array<double, 2> busy_s{};
    for (const Op& op : schedule.ops()) {
      if (op.kind != OpKind::send && op.kind != OpKind::recv) continue;
      const LinkClass& link = cluster.link(rank, op.peer);
      const double gap_s = link.gap.at(op.bytes()) - link.gap.at(0);
      // Several connections may share the port at once.
      const double port = cluster.entry(cluster.node(rank)).port_bytes_per_s;
      busy_s[op.kind == OpKind::send ? 0 : 1] += gap_s * link.one_connection(port) / port;
      look.pieces += op.pieces();
    }
    look.least_s = std::max({look.least_s, busy_s[0], busy_s[1]});
  }
  // Each piece was counted by its sender and by its receiver.
  look.pieces *= std::min(cluster.ranks(), most_ranks);
  look.pieces /= 2 * std::ssize(ranks);
  if (few_stand_for_all(call.collective, cluster)) look.pieces = std::min(look.pieces, most_pieces_of_few);
  return look;
}

LookedAt look_at_fewer_pieces(const PredictedCall& call, Choice choice, const Cluster& cluster,
                              const PieceLimits& limits) {
  LookedAt as_asked{look_at(call, choice, cluster), choice};
  const auto place = parameter_for(Role::piece, *choice.algorithm);
  if (!place || as_asked.look.pieces <= limits.enough) return as_asked;
  std::int64_t& piece = choice.parameters[*place].value;
  // Pieces that are twice as long are half as many, at best.
  const std::int64_t bytes_of_all = piece * as_asked.look.pieces;
  std::int64_t found = piece;
  for (const std::int64_t longer : longer_pieces) {
    if (bytes_of_all <= limits.enough * found) break;
    piece = longer;
    const bool possible = longer > found && longer <= call.bytes;
    if (possible && within_credit(*choice.algorithm, choice.parameters, call, cluster)) found = longer;
  }
  piece = found;
  if (choice.parameters == as_asked.choice.parameters || bytes_of_all > limits.most * found) return as_asked;
  return {look_at(call, choice, cluster), choice};
}

}  // namespace antiphon
