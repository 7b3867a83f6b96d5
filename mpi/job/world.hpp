// SPDX-License-Identifier: Apache-2.0
// What is known of the job since MPI_Init: settings, tables of choices, which node each rank is on.
#pragma once

#include <mpi.h>

#include <atomic>
#include <optional>
#include <vector>

#include "antiphon/phases.hpp"
#include "antiphon/select.hpp"
#include "job/assumed_nodes.hpp"
#include "job/overrides.hpp"
#include "job/settings.hpp"

namespace antiphon::mpi {

struct World {
  /// True from MPI_Init to MPI_Finalize while enabled. Everything else may be read only while it is.
  std::atomic<bool> active{false};
  /// True where calls are passed on unseen: all ranks are on one node, where the default rules leave every collective
  /// to the library, and nobody wants anything else or an account of it. The first override or operation ends it.
  std::atomic<bool> idle{false};
  Settings settings;
  Overrides overrides;
  /// The profile's decisions before the default table, or that table alone.
  const Rules* rules = nullptr;
  std::optional<Rules> profile_rules;
  bool yields = true;             ///< executors give the core away when nothing moves
  std::string mpi;                ///< whose library this is, as Question::mpi
  bool restarts_requests = true;  ///< its persistent requests can be trusted
  CompiledPlan plan;              ///< of ANTIPHON_PLAN: patterns with their schedules
  /// Alltoallv calls that fitted the plan here, and those that did not.
  std::atomic<std::int64_t> planned_calls{0}, unplanned_calls{0};
  MPI_Group group = MPI_GROUP_NULL;
  std::vector<int> node_of_rank;  ///< of MPI_COMM_WORLD; nodes are numbered by their lowest rank
  /// Of each rank, by ANTIPHON_NODES; empty: ranks are where they are.
  std::vector<AssumedLocation> assumed_locations;

  /// Whether collectives are looked at, or passed on unseen.
  [[nodiscard]] bool watches() const {
    return active.load(std::memory_order_relaxed) && !idle.load(std::memory_order_relaxed);
  }
  void count_planned(bool fits) { (fits ? planned_calls : unplanned_calls).fetch_add(1, std::memory_order_relaxed); }
};
extern World world;

/// This rank's; null without ANTIPHON_NODES.
const AssumedLocation* own_assumed_location();

/// Reads or receives the settings and finds the nodes. Collective over MPI_COMM_WORLD.
void start_world();
void stop_world();

}  // namespace antiphon::mpi
