// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "antiphon/schedule.hpp"

namespace antiphon {

/// How a collective on an ideal network grows with the number of ranks. Counts have no noise: where the times of a few
/// numbers of ranks grow by chance, the schedules say that they do not.
struct Growth {
  bool with_ranks = true;                                          ///< something grows with each rank: bytes, or rounds
  double most_doubling = std::numeric_limits<double>::infinity();  ///< if not: by this share with each doubling
};

/// Takes the schedules of `ranks`, 4 `ranks` and 16 `ranks`.
Growth growth_of(const std::function<std::vector<Schedule>(int ranks)>& schedules, int ranks, int ranks_per_node);

/// The times of a collective on an eighth, a quarter, half and all of `most` ranks; those before the `first` say
/// nothing.
struct Parts {
  std::array<double, 4> seconds{};
  std::size_t first = 0;
  int most = 0;
};

/// Tells how the times grow if they say so clearly: hardly at all, or all with each rank.
std::optional<Growth> growth_seen(const Parts& parts);

/// Returns the time on more ranks that is extrapolated: no less than the links need there, and no more than they need
/// times what fewer ranks took over what links need for these. Few nodes hide how the load of uplinks grows. Without
/// these loads (0), it returns the extrapolated time itself.
double along_links(double seconds, double fewer_s, double links_of_fewer_s, double links_s);

/// Returns the time on more ranks: one part grows with each rank, another with each doubling.
double beyond(const Parts& parts, int ranks, const Growth& growth);

}  // namespace antiphon
