// SPDX-License-Identifier: Apache-2.0
#include "entry/lifecycle.hpp"

#include <atomic>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "call/alias.hpp"
#include "call/datatype.hpp"
#include "compress/control.hpp"
#include "compress/report.hpp"
#include "entry/comm_state.hpp"
#include "entry/device_buffers.hpp"
#include "entry/early_comms.hpp"
#include "entry/finalize_watch.hpp"
#include "entry/in_finalize.hpp"
#include "entry/learned.hpp"
#include "entry/messages_in_turn.hpp"
#include "entry/node_report.hpp"
#include "entry/operations.hpp"
#include "entry/pattern_history.hpp"
#include "entry/persistent.hpp"
#include "entry/progress_thread.hpp"
#include "job/first_process.hpp"
#include "job/library_parameters.hpp"
#include "job/library_traits.hpp"
#include "job/limited_time.hpp"
#include "job/own_comms.hpp"
#include "job/profile_store.hpp"
#include "job/progress_hook.hpp"
#include "job/static_variables.hpp"
#include "job/wait_asleep.hpp"
#include "job/warn.hpp"
#include "job/world.hpp"
#include "multicast/leaving.hpp"
#include "multicast/report.hpp"
#include "observe/capture.hpp"
#include "observe/job_facts.hpp"
#include "observe/network_report.hpp"
#include "observe/plan_report.hpp"
#include "observe/summary.hpp"
#include "observe/time_left.hpp"
#include "observe/trace.hpp"
#include "observe/unseen.hpp"
#include "observe/watch.hpp"
#include "start/handshake.hpp"
#include "topology/placement.hpp"

namespace antiphon::mpi {

namespace {

enum class StartedBy { nobody, init, session };
std::atomic<StartedBy> started_by = StartedBy::nobody;

/// Tells whether this is how the process starts MPI. The library meets the launcher then, and never again.
bool is_first_start(StartedBy how) {
  StartedBy expected = StartedBy::nobody;
  return started_by.compare_exchange_strong(expected, how);
}

/// Waits for ranks that still work, perhaps on this rank's core: all that follows would wait for them without a sleep.
void await_all_ranks() {
  MPI_Request all_are_here = MPI_REQUEST_NULL;
  if (PMPI_Ibarrier(MPI_COMM_WORLD, &all_are_here) == MPI_SUCCESS) wait_asleep(all_are_here);
}

/// Writes the summary and frees all communicators' state.
void end() {
  if (!world.active) return;
  CommState::delete_unused();
  drain_multicast();
  await_all_ranks();
  stop_multicast();
  if (summary::enabled()) {
    summary::write({{"plan", plan_row, print_plan},
                    {"network", network_row, print_network},
                    {"facts", facts_row, print_facts},
                    {"tried", learned::rows, learned::print},
                    {"within_nodes", node_row, print_node},
                    {"in_turn", in_turn_row, print_in_turn},
                    {"multicast", multicast_row, print_multicast},
                    {"compressing", compression_terms, print_compression_terms},
                    {"compression", compression_rows, print_compression}});
  }
  if (world.settings.keeps_learned()) save_learned(learned::rules());
  trace::finish();
  learned::finish_sharing();
  finish_gatherings();
  stop_messages_in_turn();
  operations::forget_all();
  persistent::release_all();
  forget_watched_requests();
  world.active = false;
  stop_capture();
  stop_framing();
  CommState::release();
  release_datatypes();
  free_comm_of_self();
  stop_world();
}

/// Where processor time is limited, shows which calls begin a wait.
void watch_calls_in_limited_time() {
  class Calls final : public P2pRecorder {
    void before(const P2pCall&) noexcept override { limited_time::note_call(); }
    void after(const P2pCall&, int) noexcept override {}
  };
  static Calls calls;
  if (limited_time::is_on()) set_p2p_recorder(WatchReason::limited_time, &calls);
}

int end_in_finalize(MPI_Comm, int, void*, void*) {
  end();
  return MPI_SUCCESS;
}

/// Ends the run: other ranks may wait for this one, or count on what it does from here on. warn() takes memory.
void end_without_memory() {
  std::fputs("antiphon: a rank has no memory left at its start; the run ends\n", stderr);
  let_launcher_read();
  PMPI_Abort(MPI_COMM_WORLD, 1);
}

bool ends_in_finalize = false;

}  // namespace

void before_init() {
  if (!static_variables_exist() || !is_first_start(StartedBy::init)) return;
  set_parameters_before_init();
  announce();
}

void before_session() {
  note_start();
  if (is_first_start(StartedBy::session) && is_first_process())
    warn_left_alone("the program starts MPI by MPI_Session_init, not MPI_Init");
}

void after_init() {
  if (!static_variables_exist()) {
    std::fputs("antiphon: a library starts MPI while the program is loaded: all calls are the library's\n", stderr);
    return;
  }
  note_start();
  unset_parameters_after_init();
  try {
    if (started_by != StartedBy::init || !all_take_part()) return;
    start_world();
    if (!world.settings.enabled) return;
    if (library_survives_failures()) {
      if (is_first_process()) warn_left_alone("the launcher lets programs survive the failure of a rank (ULFM)");
      return;
    }
    report_tools();
    make_comm_of_self();
    ask_about_aliases();
    check_placement();
    prepare_datatypes();
    prepare_finalize_watch();
    ends_in_finalize = call_in_finalize(end_in_finalize, nullptr);
    CommState::prepare();
    start_capture();
    trace::start();
    start_framing();
    start_messages_in_turn();
    watch_calls_in_limited_time();
    summary::start();
    start_progress_thread();
    start_early_comms();
    world.active = true;
  } catch (const std::bad_alloc&) {
    end_without_memory();
  } catch (const std::exception& e) {
    warn(std::string("not active: ") + e.what());
  }
}

Finalizing::Finalizing() {
  stop_progress_thread();
  send_held_messages();
  limited_time::stop();
  progress_hook::before_finalize();
  if (!ends_in_finalize) end();
}

Finalizing::~Finalizing() {
  finalize_returned();
  write_learned();
}

}  // namespace antiphon::mpi
