// SPDX-License-Identifier: Apache-2.0
#include "phases/first_fit.hpp"

namespace antiphon::scheduler_uplink_first {

namespace {

bool worth(const Pattern& pattern, const Fabric& fabric) { return lower_bound(pattern, fabric).uplink_bytes > 0; }

/// For switches joined by links that are no faster than what is behind them (paper 1's machine has two such switches;
/// the paper assumes that the link between them is never the limit). An uplink takes part in a phase like a port, with
/// as many messages as it carries at full rate. Messages between switches are placed first, largest first, since
/// uplinks are scarce; those within a switch fill the gaps.
Phases build(const Pattern& pattern, const Fabric& fabric, std::int64_t small_bytes) {
  const Ports ports(fabric, pattern.size);
  FirstFit fit(pattern, fabric, true);
  std::vector<PatternMessage> small;
  for (const bool crossing : {true, false}) {
    for (const PatternMessage& m : largest_first(pattern)) {
      if ((ports.of(m.from, m.to).up >= 0) != crossing) continue;
      if (m.bytes < small_bytes) small.push_back(m);
      else fit.place(m, fit.no_limit);
    }
  }
  return fit.finish("uplink_first", small);
}

}  // namespace

extern const Scheduler scheduler{
    .name = "uplink_first",
    .summary = "several switches: uplinks take part in phases as ports do",
    .worth = worth,
    .build = build,
};

}  // namespace antiphon::scheduler_uplink_first
