// SPDX-License-Identifier: Apache-2.0
#include "entry/early_comms.hpp"

#include <algorithm>
#include <exception>
#include <string>

#include "entry/comm_state.hpp"
#include "entry/progress_thread.hpp"
#include "job/own_comms.hpp"
#include "job/warn.hpp"
#include "job/world.hpp"

namespace antiphon::mpi {

namespace {

bool makes_early = false;

/// Tells whether calls could need own communicators that they cannot make; the same on every rank.
bool could_need_any() {
  const auto is_library = [](const Override& one) { return one.mode == Override::Mode::library; };
  if (std::all_of(world.overrides.begin(), world.overrides.end(), is_library)) return false;
  // The built-in rules leave such a network's calls to the library.
  const auto is_chosen = [&](const Override& one) { return one.mode == Override::Mode::automatic || is_library(one); };
  if (world.transport == "other" && !world.profile_rules &&
      std::all_of(world.overrides.begin(), world.overrides.end(), is_chosen))
    return false;
  if (!world.idle && operations_advance_always() && !world.some_may_have_devices) return true;
  const auto& acts = world.acts_on_one_node;
  return world.orders_ids && world.some_have_threads &&
         (!world.idle || std::find(acts.begin(), acts.end(), true) != acts.end());
}

}  // namespace

void start_early_comms() {
  makes_early = could_need_any();
  CommState* const state = makes_early ? CommState::of(MPI_COMM_WORLD) : nullptr;
  if (state == nullptr) return;
  own_comm_counts.needed_early = world.orders_ids && world.some_have_threads;
  state->own().make_early(MPI_COMM_WORLD);
  state->own().early_allowance().grant();
}

void also_make_own(MPI_Comm parent, MPI_Comm made) {
  if (!makes_early || !world.active) return;
  try {
    CommState* const of_parent = CommState::of(parent);
    if (of_parent == nullptr || !of_parent->own().early_allowance().take(parent)) return;
    CommState* const of_made = CommState::of(made);
    if (of_made != nullptr) of_made->own().make_early(parent);
    else create_comm(parent, MPI_GROUP_EMPTY);
  } catch (const std::exception& e) {
    warn(std::string("a new communicator: ") + e.what());
  }
}

}  // namespace antiphon::mpi
