// SPDX-License-Identifier: Apache-2.0
// The World holds what is known of the job since MPI_Init: settings, tables of choices, and the node of each rank.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "antiphon/overrides.hpp"
#include "antiphon/run_plan.hpp"
#include "antiphon/select.hpp"
#include "job/assumed_nodes.hpp"
#include "job/plan_use.hpp"
#include "job/settings.hpp"
#include "job/switches.hpp"
#include "job/yields.hpp"
#include "network/agree.hpp"

namespace antiphon::mpi {

struct World {
  /// This is true from MPI_Init to MPI_Finalize while Antiphon is enabled; everything else may be read only while it
  /// is.
  std::atomic<bool> active{false};
  /// Calls pass without a look: all ranks are on one node, where the default rules leave most collectives to the
  /// library, and the user asks for nothing else and no report. The first override or operation ends it.
  std::atomic<bool> idle{false};
  std::array<bool, collective_count> acts_on_one_node{};  ///< blocking calls of these are looked at all the same
  Settings settings;
  Overrides overrides;
  /// This is the profile's decisions followed by the default table, or that table alone.
  const Rules* rules = nullptr;
  std::optional<Rules> profile_rules;
  Yields yields = Yields::here;     ///< who gives the core away when nothing moves
  std::string mpi;                  ///< name of the MPI library, as in Question::mpi
  bool speeds_up_one_node = false;  ///< the rules for one node hold here
  bool orders_ids = false;          ///< see library_orders_ids()
  bool connects_late = false;       ///< see library_connects_late()
  bool some_have_threads = false;   ///< a rank may call MPI from several threads at once
  bool restarts_requests = true;    ///< the library's persistent requests can be trusted
  network::Network network;         ///< what messages between nodes travel by
  std::string transport;            ///< the same, as in Question::transport
  double ranks_on_core = 1;         ///< so many ranks share a core, as far as is known; at least 1
  RunPlan plan;                     ///< from ANTIPHON_PLAN
  bool has_planned_choices = false;
  PlanUse plan_use;
  MPI_Group group = MPI_GROUP_NULL;
  Switches switches;
  bool some_may_have_devices = false;  ///< a rank uses a GPU, or its node has one
  std::vector<int> node_of_rank;       ///< by rank of MPI_COMM_WORLD; nodes are numbered by their lowest rank
  /// ANTIPHON_NODES gives the location of each rank; empty means that ranks are where they really are.
  std::vector<AssumedLocation> assumed_locations;

  /// Tells whether collectives are looked at; if not, they are passed on without a look.
  [[nodiscard]] bool watches() const {
    return active.load(std::memory_order_relaxed) && !idle.load(std::memory_order_relaxed);
  }
  /// Tells the same of a blocking collective.
  [[nodiscard]] bool watches(Collective collective) const {
    if (!active.load(std::memory_order_relaxed)) return false;
    return !idle.load(std::memory_order_relaxed) || acts_on_one_node[static_cast<std::size_t>(collective)];
  }
};
extern World world;

/// Returns the ranks of the node that has most of them.
int ranks_of_fullest_node();

/// Returns the parameters of the credit protocol that suit what may be under way to a node here, measured or guessed.
std::string usual_credit_parameters();

/// Returns this rank's assumed location, or null without ANTIPHON_NODES.
const AssumedLocation* own_assumed_location();

/// Reads or receives the settings and finds the nodes. The call is collective over MPI_COMM_WORLD.
void start_world();
void stop_world();

}  // namespace antiphon::mpi
