// SPDX-License-Identifier: Apache-2.0
#include "observe/plan_report.hpp"

#include <mpi.h>

#include <array>
#include <string>

#include "job/world.hpp"
#include "observe/text_table.hpp"

namespace antiphon::mpi {

namespace {

constexpr std::size_t figures = 8;
using Figures = std::array<std::int64_t, figures>;

Figures of_all_ranks() {
  const PlanUse& use = world.plan_use;
  const Figures mine{use.algorithms.calls, use.algorithms.saved_ns, use.multicasts.calls, use.multicasts.saved_ns,
                     use.patterns.calls,   use.patterns.saved_ns,   use.other_choices,    use.other_patterns};
  Figures all{};
  PMPI_Reduce(mine.data(), all.data(), static_cast<int>(figures), MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  return all;
}

Json part(const char* name, std::int64_t calls, std::int64_t others, double saved_s) {
  return {{"part", name}, {"calls", calls}, {"other_calls", others}, {"saved_s", saved_s}};
}

}  // namespace

Json plan_row() {
  if (world.settings.plan.empty()) return nullptr;
  const RunPlan& plan = world.plan;
  const Figures all = of_all_ranks();
  const auto mean_s = [](std::int64_t ns) {
    return 1e-9 * static_cast<double>(ns) / static_cast<double>(world.node_of_rank.size());
  };
  Json parts = Json::array();
  if (!plan.placed.empty() && !world.settings.placement.empty())
    parts.push_back(part("placement", static_cast<std::int64_t>(plan.placed.size()), 0, plan.placement_saves_s));
  if (world.has_planned_choices) {
    parts.push_back(part("algorithms", all[0], all[2] + all[6], mean_s(all[1])));
    parts.push_back(part("multicast", all[2], all[0] + all[6], mean_s(all[3])));
  }
  if (!plan.patterns.empty()) parts.push_back(part("patterns", all[4], all[7], mean_s(all[5])));
  return {{"matched_calls", all[4]}, {"other_calls", all[7]}, {"parts", std::move(parts)}};
}

void print_plan(std::FILE* out, const Json& row) {
  if (row.is_null()) return;
  const auto fitting = static_cast<long>(row.at("matched_calls").as_integer());
  const auto others = static_cast<long>(row.at("other_calls").as_integer());
  if (fitting + others > 0)
    std::fprintf(out, "antiphon: %ld of %ld Alltoallv calls (of all ranks) were as the plan says\n", fitting,
                 fitting + others);
  if (row.at("parts").empty()) return;
  std::fputs("antiphon: parts of the plan, calls of all ranks, and what the model expects that each saves\n", out);
  TextTable table;
  table.column("part", false).column("as planned").column("others").column("saves");
  for (const Json& one : row.at("parts")) {
    table.row({one.at("part").as_string(), std::to_string(one.at("calls").as_integer()),
               std::to_string(one.at("other_calls").as_integer()), time_text(one.at("saved_s").get<double>())});
  }
  table.print(out);
}

}  // namespace antiphon::mpi
