// SPDX-License-Identifier: Apache-2.0
#include "cost/growth.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "antiphon/adapt.hpp"
#include "antiphon/replay.hpp"

namespace antiphon {

namespace {

/// From one number of ranks to the next, four times as many, what grows with each rank increases four times as much as
/// before; what grows with each doubling increases as much.
constexpr double between_both = 2.2;
/// Times differ by this share by chance.
constexpr double chance = 0.03;
/// What grows with each rank increases twice as much from one number of ranks to the next, twice as many.
constexpr double nearly_twice = 1.8;
/// Times may grow by so much more than the counts.
constexpr double more_than_counts = 1.5;

}  // namespace

Growth growth_of(const std::function<std::vector<Schedule>(int ranks)>& schedules, int ranks, int ranks_per_node) {
  std::array<std::array<double, 3>, 2> ends{};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::vector<Schedule> all = schedules(ranks << (2 * i));
    ends[0][i] = static_cast<double>(replay(all, Clock::rounds).end);
    ends[1][i] = static_cast<double>(replay(all, Clock::bytes, ranks_per_node).end);
  }
  Growth growth{false, 0};
  for (const auto& end : ends) {
    const double before = end[1] - end[0];
    const double after = end[2] - end[1];
    growth.with_ranks = growth.with_ranks || (after > 0 && after > between_both * std::max(before, 0.0));
    if (end[2] > 0) growth.most_doubling = std::max(growth.most_doubling, more_than_counts * after / 2 / end[2]);
  }
  return growth;
}

std::optional<Growth> growth_seen(const Parts& parts) {
  const auto& seconds = parts.seconds;
  const double before = seconds[2] - seconds[1];
  const double after = seconds[3] - seconds[2];
  if (std::abs(before) + std::abs(after) < chance * seconds[3])
    return Growth{false, std::numeric_limits<double>::infinity()};
  const double first = seconds[1] - seconds[0];
  const bool twice = parts.first == 0 && first > 0 && before > nearly_twice * first && after > nearly_twice * before;
  return twice ? std::optional(Growth{}) : std::nullopt;
}

double along_links(double seconds, double fewer_s, double links_of_fewer_s, double links_s) {
  if (links_s <= 0 || links_of_fewer_s <= 0) return seconds;
  return std::clamp(seconds, links_s, links_s * std::max(fewer_s / links_of_fewer_s, 1.0));
}

double beyond(const Parts& parts, int ranks, const Growth& growth) {
  const auto& [seconds, first, most] = parts;
  const auto more = [&](std::size_t i) { return parts.seconds[i + 1] - parts.seconds[i]; };
  // Growth with the ranks must show twice. Otherwise a single jump, taken for growth, would dominate the prediction
  // at many times the ranks.
  const double last = first < 2 ? more(2) - more(1) : more(2) / 2;
  double slope = std::max(first == 0 ? std::min((more(1) - more(0)) * 2, last) : last, 0.0) / (most / 4);
  double doubling = std::max(more(2) - slope * (most / 2), 0.0);
  if (!growth.with_ranks) {
    slope = 0;
    // Trees of four children grow with every other doubling.
    const double usual = first < 2 ? (more(1) + more(2)) / 2 : more(2);
    doubling = std::min(std::max(usual, 0.0), growth.most_doubling * seconds[3]);
  }
  return seconds[3] + slope * (ranks - most) + doubling * log2_alike(static_cast<double>(ranks) / most);
}

}  // namespace antiphon
