// SPDX-License-Identifier: Apache-2.0
// What is known of the job since MPI_Init: settings, tables of choices, which node each rank is on.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <optional>
#include <vector>

#include "antiphon/phases.hpp"
#include "antiphon/select.hpp"
#include "job/host_names.hpp"
#include "job/settings.hpp"

namespace antiphon::mpi {

/// What to use for one collective: the normal choice, or what somebody asked for.
struct Override {
  enum class Mode : std::uint8_t { automatic, library, own, fixed } mode = Mode::automatic;
  Choice choice;  ///< of fixed
};
using Overrides = std::array<Override, collective_count>;

/// Reads what antiphon_force() and the MPI_Info keys take. Throws InvalidArgument.
Override parse_override(Collective collective, std::string_view text);

struct World {
  /// True from MPI_Init to MPI_Finalize while enabled. Everything else may be read only while it is.
  std::atomic<bool> active{false};
  /// All ranks are on one node, where the default rules leave every collective to the library, and nobody wants
  /// anything else or an account of it: calls are passed on unseen, until the first override or operation of a
  /// communicator.
  std::atomic<bool> idle{false};
  Settings settings;
  Overrides overrides;
  const Rules* rules = nullptr;  ///< the profile's decisions before the default table, or that alone
  std::optional<Rules> profile_rules;
  bool yields = true;             ///< executors give the core away when nothing moves
  std::string mpi;                ///< whose library this is, as Question::mpi
  bool restarts_requests = true;  ///< its persistent requests can be trusted
  CompiledPlan plan;              ///< of ANTIPHON_PLAN: patterns with their schedules
  std::atomic<std::int64_t> planned_calls{0},
      unplanned_calls{0};  ///< Alltoallv calls that fitted the plan here, or did not
  MPI_Group group = MPI_GROUP_NULL;
  std::vector<int> node_of_rank;         ///< of MPI_COMM_WORLD; nodes are numbered by their lowest rank
  std::vector<GivenPlace> given_places;  ///< of each rank, by ANTIPHON_NODES; empty: they are where they are

  /// Whether collectives are looked at, or passed on unseen.
  [[nodiscard]] bool watches() const {
    return active.load(std::memory_order_relaxed) && !idle.load(std::memory_order_relaxed);
  }
  void count_planned(bool fits) { (fits ? planned_calls : unplanned_calls).fetch_add(1, std::memory_order_relaxed); }
};
extern World world;

/// What the MPI library says of itself.
std::string library_version();

/// Reads or receives the settings and finds the nodes. Collective over MPI_COMM_WORLD.
void start_world();
void stop_world();

}  // namespace antiphon::mpi
