// SPDX-License-Identifier: Apache-2.0
// This is the C API of multicast groups (antiphon.h): paper 1, §4.1, compiler-assisted group management.
#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "antiphon.h"
#include "antiphon/error.hpp"
#include "call/describe.hpp"
#include "entry/comm_state.hpp"
#include "entry/waits.hpp"
#include "job/library.hpp"
#include "job/progress.hpp"
#include "job/warn.hpp"
#include "job/world.hpp"
#include "multicast/groups.hpp"
#include "run/group_multicasts.hpp"

using namespace antiphon;
using namespace antiphon::mpi;

/// Holds an open group, and the programs for the sizes and layouts of its calls.
struct antiphon_group_s {
  struct Program {
    Problem problem;
    std::unique_ptr<Executor> executor;
  };
  /// Says how data move.
  enum class Way : std::uint8_t {
    multicast,  ///< to all members at once, if that works
    messages,   ///< a schedule of messages
    plain,      ///< a few short messages, which take less time than a schedule does
  };

  antiphon_group_s(CommState& on, int of_root) : state_stays(on), state(on), root(of_root) {}

  CommState::Hold state_stays;  ///< as what follows uses it
  CommState& state;
  Collective collective{};
  int root;
  Way way = Way::multicast;
  std::vector<std::int32_t> members;  ///< ascending
  std::vector<std::int64_t> sizes;    ///< scatterv: each rank's bytes
  MulticastGroup* group = nullptr;    ///< at members; belongs to the state
  std::vector<std::unique_ptr<Program>> programs;
  std::size_t oldest = 0;

  [[nodiscard]] bool takes_part(int rank) const { return std::binary_search(members.begin(), members.end(), rank); }
};

namespace {

/// A group keeps programs for this many sizes and layouts.
constexpr std::size_t most_programs = 8;
/// A scatter of more bytes in all goes by messages: the root's link is then equally full either way, and nobody waits
/// for acknowledgements.
constexpr std::int64_t most_aggregated_bytes = 32768;
/// With this many members, the root included, messages are as quick as a multicast in a series of calls. In a single
/// call they are quicker, because a multicast must wake its receivers.
constexpr std::size_t few_members = 9;
/// Up to this size a message is eager everywhere, and a blocking send is quickest because it needs no request.
constexpr std::int64_t short_bytes = 1024;
/// Plain messages have this tag on Antiphon's own communicator, which differs from the tags of schedules.
constexpr int plain_tag = 32001;

using Way = antiphon_group_s::Way;

Way scatterv_way(const antiphon_group_s& g) {
  const std::int64_t own_bytes = g.sizes[static_cast<std::size_t>(g.root)];
  const std::int64_t bytes_to_send = std::accumulate(g.sizes.begin(), g.sizes.end(), -own_bytes);
  if (bytes_to_send > most_aggregated_bytes) return Way::messages;
  return g.members.size() > few_members ? Way::multicast : Way::plain;
}

/// Opens the transport's group among the members, if it is needed; the other ranks go on.
int finish_opening(std::unique_ptr<antiphon_group_s> fresh, antiphon_group* group) {
  CommState& state = fresh->state;
  // One trial among all ranks, once for the communicator, finds out whether the members can hear each other.
  const bool works = fresh->way == Way::multicast && state.groups().work();
  if (fresh->way == Way::multicast && fresh->takes_part(state.rank()) && fresh->members.size() > 1) {
    fresh->group = &state.groups().of(fresh->members);
    fresh->group->state()->pin();
    if (works) fresh->group->open();
  }
  *group = fresh.release();
  return ANTIPHON_OK;
}

template <class Make>
int open_group(MPI_Comm comm, int root, antiphon_group* group, Make&& make) {
  if (!world.active) return ANTIPHON_ABSENT;
  CommState* const state = CommState::of(comm);
  if (state == nullptr || root < 0 || root >= state->size()) return ANTIPHON_BAD_COMM;
  try {
    auto fresh = std::make_unique<antiphon_group_s>(*state, root);
    if (const int rc = make(*state, *fresh); rc != ANTIPHON_OK) return rc;
    return finish_opening(std::move(fresh), group);
  } catch (const std::exception& e) {
    warn(std::string("a multicast group: ") + e.what());
    return ANTIPHON_MPI_ERROR;
  }
}

/// Returns the choice for a scatterv: one multicast of all blocks, or a message for each.
const Choice& scatterv_choice(const antiphon_group_s& g) {
  static const Choice aggregated = parse_choice(Collective::scatterv, "multicast:members=1");
  static const Choice messages = parse_choice(Collective::scatterv, "flat:piece_bytes=0,destinations=1024");
  return g.way == Way::multicast ? aggregated : messages;
}

/// Tells whether a scatterv's counts are those of the group. `element_bytes` belongs to the type that the root sends,
/// or that a receiver receives.
bool fits(const Call& call, const antiphon_group_s& g, int rank, std::int64_t element_bytes) {
  if (rank != g.root) return call.recvcount * element_bytes == g.sizes[static_cast<std::size_t>(rank)];
  const auto all = static_cast<std::int64_t>(g.sizes.size());
  for (std::int64_t i = 0; i < all; ++i) {
    if (call.sendcounts[i] * element_bytes != g.sizes[static_cast<std::size_t>(i)]) return false;
  }
  return true;
}

/// Runs a scatterv by plain messages. `extent_bytes` belongs to the root's type. Returns an MPI error code.
int run_plainly(const Call& call, const antiphon_group_s& g, int rank, std::int64_t extent_bytes, MPI_Comm comm) {
  const auto recvcount = static_cast<int>(call.recvcount);
  std::array<MPI_Request, few_members + 1> requests;
  int active = 0;
  int rc = MPI_SUCCESS;
  const auto add = [&](auto post, auto... arguments) {
    if (rc == MPI_SUCCESS) rc = post(arguments..., plain_tag, comm, &requests[static_cast<std::size_t>(active++)]);
  };
  const bool may_block = !operations_under_way();
  if (may_block && rank != g.root)
    return PMPI_Recv(call.recvbuf, recvcount, call.recvtype, g.root, plain_tag, comm, MPI_STATUS_IGNORE);
  const bool receives = g.sizes[static_cast<std::size_t>(rank)] > 0 && call.recvbuf != MPI_IN_PLACE;
  if (receives) add(PMPI_Irecv, call.recvbuf, recvcount, call.recvtype, g.root);
  if (rank == g.root) {
    for (const int to : g.members) {
      if (rc != MPI_SUCCESS || (to == rank && !receives)) continue;
      const auto* const block = static_cast<const std::byte*>(call.sendbuf) + call.senddispls[to] * extent_bytes;
      const auto count = static_cast<int>(call.sendcounts[to]);
      if (may_block && g.sizes[static_cast<std::size_t>(to)] <= short_bytes)
        rc = PMPI_Send(block, count, call.sendtype, to, plain_tag, comm);
      else add(PMPI_Isend, block, count, call.sendtype, to);
    }
  }
  if (may_block) return rc == MPI_SUCCESS ? PMPI_Waitall(active, requests.data(), MPI_STATUSES_IGNORE) : rc;
  for (int i = 0; i < active && rc == MPI_SUCCESS; ++i) rc = wait_for(requests[static_cast<std::size_t>(i)]);
  return rc;
}

/// Returns what the members do: the algorithm's schedule with this group.
Schedule schedule_for(const antiphon_group_s& g, const Problem& p) {
  if (g.collective == Collective::scatterv) return scatterv_choice(g).algorithm->build(p);
  Schedule s;
  const int group = s.group(g.members);
  if (p.rank == p.root) s.multicast(group, p.whole_output());
  else s.recv_multicast(p.root, group, p.whole_output());
  return s;
}

Executor& program_for(antiphon_group_s& g, const Problem& problem) {
  for (const auto& p : g.programs) {
    if (p->problem.bytes == problem.bytes && p->problem.send_offsets == problem.send_offsets &&
        p->problem.in_place == problem.in_place)
      return *p->executor;
  }
  auto fresh = std::make_unique<antiphon_group_s::Program>();
  fresh->problem = problem;
  fresh->executor = g.state.make_executor(schedule_for(g, problem));
  use_groups(*fresh->executor, g.state.groups(), 1);
  Executor& executor = *fresh->executor;
  if (g.programs.size() < most_programs) g.programs.push_back(std::move(fresh));
  else g.programs[g.oldest++ % most_programs] = std::move(fresh);
  return executor;
}

int told(const antiphon_group_s& g, int rc) {
  if (rc == MPI_SUCCESS) return ANTIPHON_OK;
  PMPI_Comm_call_errhandler(g.state.comm_for_errors(), rc);
  return ANTIPHON_MPI_ERROR;
}

int run_schedule(const Call& call, antiphon_group_s& g) {
  CommState& state = g.state;
  const Description d = describe(call, state.rank(), state.size());
  if (!d.schedulable) return d.own_bytes == 0 ? ANTIPHON_OK : ANTIPHON_BAD_PATTERN;
  Problem& problem = state.blank_problem(g.collective);
  make_problem(d, problem);
  if (g.collective == Collective::scatterv) {
    problem.parameters = scatterv_choice(g).parameters;
    problem.send_bytes = g.sizes;
    if (problem.rank != problem.root) problem.send_offsets.assign(g.sizes.size(), 0);
  }
  Executor& executor = program_for(g, problem);
  Workspace workspace(d, problem, state.staging());
  int rc = workspace.prepare(executor.scratch_bytes());
  if (rc == MPI_SUCCESS) rc = executor.run(workspace.binding());
  if (rc == MPI_SUCCESS) rc = workspace.finish();
  return told(g, rc);
}

int move(const Call& call, antiphon_group_s& g) {
  const int rank = g.state.rank();
  if (!g.takes_part(rank)) return ANTIPHON_OK;
  if (g.collective == Collective::scatterv) {
    TypeInfo type;
    if (!inspect(rank == g.root ? call.sendtype : call.recvtype, type) || !fits(call, g, rank, type.size_bytes))
      return ANTIPHON_BAD_PATTERN;
    if (g.way == Way::plain) return told(g, run_plainly(call, g, rank, type.extent_bytes, g.state.own_comm()));
  }
  return run_schedule(call, g);
}

template <class Run>
int guarded(antiphon_group group, Run&& run) {
  if (group == nullptr) return ANTIPHON_BAD_PATTERN;
  if (!world.active) return ANTIPHON_ABSENT;
  try {
    return run();
  } catch (const std::exception& e) {
    warn(std::string("a multicast group: ") + e.what());
    return ANTIPHON_MPI_ERROR;
  }
}

}  // namespace

extern "C" {

ANTIPHON_EXPORT int antiphon_impl_scatterv_open_group(const int sendcounts[], MPI_Datatype sendtype, int root,
                                                      MPI_Comm comm, antiphon_group* group) {
  return open_group(comm, root, group, [&](CommState& state, antiphon_group_s& fresh) {
    fresh.collective = Collective::scatterv;
    fresh.sizes.assign(static_cast<std::size_t>(state.size()), 0);
    if (state.rank() == root) {
      TypeInfo info;
      const bool good = inspect(sendtype, info);
      for (std::size_t i = 0; i < fresh.sizes.size(); ++i)
        fresh.sizes[i] = good && sendcounts[i] >= 0 ? sendcounts[i] * info.size_bytes : -1;
    }
    if (PMPI_Bcast(fresh.sizes.data(), state.size(), MPI_INT64_T, root, state.own_comm()) != MPI_SUCCESS)
      return static_cast<int>(ANTIPHON_MPI_ERROR);
    for (int i = 0; i < state.size(); ++i) {
      const std::int64_t bytes = fresh.sizes[static_cast<std::size_t>(i)];
      if (bytes < 0) return static_cast<int>(ANTIPHON_BAD_PATTERN);
      if (bytes > 0 || i == root) fresh.members.push_back(i);
    }
    fresh.way = scatterv_way(fresh);
    return static_cast<int>(ANTIPHON_OK);
  });
}

ANTIPHON_EXPORT int antiphon_impl_bcast_open_group(int takes_part, int root, MPI_Comm comm, antiphon_group* group) {
  return open_group(comm, root, group, [&](CommState& state, antiphon_group_s& fresh) {
    fresh.collective = Collective::bcast;
    std::vector<int> all(static_cast<std::size_t>(state.size()));
    const int own = takes_part != 0 || state.rank() == root ? 1 : 0;
    if (PMPI_Allgather(&own, 1, MPI_INT, all.data(), 1, MPI_INT, state.own_comm()) != MPI_SUCCESS)
      return static_cast<int>(ANTIPHON_MPI_ERROR);
    for (int i = 0; i < state.size(); ++i) {
      if (all[static_cast<std::size_t>(i)] != 0) fresh.members.push_back(i);
    }
    return static_cast<int>(ANTIPHON_OK);
  });
}

ANTIPHON_EXPORT int antiphon_impl_scatterv_data_movement(const void* sendbuf, const int sendcounts[],
                                                         const int displs[], MPI_Datatype sendtype, void* recvbuf,
                                                         int recvcount, MPI_Datatype recvtype, antiphon_group group) {
  return guarded(group, [&] {
    return move({.collective = Collective::scatterv,
                 .comm = group->state.own_comm(),
                 .sendbuf = sendbuf,
                 .recvbuf = recvbuf,
                 .recvcount = recvcount,
                 .sendtype = sendtype,
                 .recvtype = recvtype,
                 .sendcounts = sendcounts,
                 .senddispls = displs,
                 .root = group->root},
                *group);
  });
}

ANTIPHON_EXPORT int antiphon_impl_bcast_data_movement(void* buffer, int count, MPI_Datatype datatype,
                                                      antiphon_group group) {
  return guarded(group, [&] {
    return move({.collective = Collective::bcast,
                 .comm = group->state.own_comm(),
                 .recvbuf = buffer,
                 .sendcount = count,
                 .sendtype = datatype,
                 .root = group->root},
                *group);
  });
}

ANTIPHON_EXPORT int antiphon_impl_group_member(antiphon_group group) {
  return group != nullptr && world.active && group->takes_part(group->state.rank()) ? 1 : 0;
}

ANTIPHON_EXPORT int antiphon_impl_group_multicasts(antiphon_group group) {
  return group != nullptr && world.active && group->group != nullptr && group->group->is_open() ? 1 : 0;
}

ANTIPHON_EXPORT int antiphon_impl_close_group(antiphon_group* group) {
  std::unique_ptr<antiphon_group_s> closed(std::exchange(*group, nullptr));
  // At MPI_Finalize the state went, on which the rest depends.
  if (!world.active) static_cast<void>(closed.release());
  if (closed == nullptr || closed->group == nullptr) return ANTIPHON_OK;
  closed->group->state()->unpin();
  closed->state.groups().close(closed->members);
  return ANTIPHON_OK;
}

}  // extern "C"
