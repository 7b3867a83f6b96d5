// SPDX-License-Identifier: Apache-2.0
// This is the C API of compiled communication (antiphon.h): network control and data transmission of paper 1, §4.2.
#include <algorithm>
#include <memory>
#include <vector>

#include "antiphon.h"
#include "antiphon/advice.hpp"
#include "antiphon/error.hpp"
#include "antiphon/phases.hpp"
#include "call/describe.hpp"
#include "entry/comm_state.hpp"
#include "entry/persistent.hpp"
#include "job/library.hpp"
#include "job/world.hpp"

using namespace antiphon;
using namespace antiphon::mpi;

/// Holds a scheduled pattern, and what runs it.
struct antiphon_schedule_s {
  MPI_Comm comm;
  CompiledPattern compiled;
  Advice own;  ///< this rank's part
  std::unique_ptr<Exchange> exchange;

  antiphon_schedule_s(MPI_Comm c, CompiledPattern pattern, CommState& state)
      : comm(c), compiled(std::move(pattern)), own(compiled, state.rank()), exchange(state.make_exchange()) {}
};

namespace {

/// Runs `make`, which returns a compiled pattern, and wraps the result.
template <class Make>
int make_schedule(MPI_Comm comm, antiphon_schedule* schedule, Make&& make) {
  if (!world.active) return ANTIPHON_ABSENT;
  CommState* const state = CommState::of(comm);
  if (state == nullptr) return ANTIPHON_BAD_COMM;
  try {
    *schedule = new antiphon_schedule_s(comm, make(*state), *state);
    return ANTIPHON_OK;
  } catch (const NoMoreCommunicators&) {
    return ANTIPHON_BAD_COMM;
  } catch (const std::exception&) {
    return ANTIPHON_BAD_PATTERN;
  }
}

CompiledPattern from_table(const std::vector<std::int64_t>& bytes, CommState& state) {
  if (std::any_of(bytes.begin(), bytes.end(), [](std::int64_t b) { return b < 0; }))
    throw InvalidArgument("a negative size");
  return state.patterns().of(Pattern::of_counts(state.size(), bytes));
}

Phases phases_of(const antiphon_part* parts, int count, int size) {
  Phases phases{.size = size, .scheduler = "given"};
  for (int i = 0; i < count; ++i) {
    const antiphon_part& p = parts[i];
    if (p.phase < 0 || p.phase > count) throw InvalidArgument("a phase out of bounds");
    if (static_cast<std::size_t>(p.phase) >= phases.phases.size())
      phases.phases.resize(static_cast<std::size_t>(p.phase) + 1);
    phases.phases[static_cast<std::size_t>(p.phase)].parts.push_back({p.from, p.to, p.offset_bytes, p.bytes});
  }
  // A rank that has two messages in a phase sends them together.
  for (PhaseOfParts& phase : phases.phases) {
    std::vector<int> out(static_cast<std::size_t>(size));
    std::vector<int> in(out.size());
    for (const Part& p : phase.parts) {
      if (p.from < 0 || p.from >= size || p.to < 0 || p.to >= size || p.from == p.to)
        throw InvalidArgument("a rank out of bounds");
      phase.together =
          ++out[static_cast<std::size_t>(p.from)] > 1 || ++in[static_cast<std::size_t>(p.to)] > 1 || phase.together;
    }
  }
  std::erase_if(phases.phases, [](const PhaseOfParts& phase) { return phase.parts.empty(); });
  return phases;
}

CompiledPattern from_parts(const antiphon_part* parts, int count, CommState& state) {
  const Fabric& fabric = state.patterns().fabric();
  CompiledPattern compiled{.phases = phases_of(parts, count, state.size())};
  // The check treats each rank as if it had a node of its own, because the caller decides what several ranks of one
  // node do to its port.
  if (const auto wrong = check_phases(compiled.phases, compiled.phases.pattern(), Fabric{}))
    throw InvalidArgument(*wrong);
  double best_s = -1;
  for (int i = 0; i < synchronisation_count; ++i) {
    const auto synchronisation = static_cast<Synchronisation>(i);
    const double seconds = phases_seconds(compiled.phases, fabric, synchronisation, compiled.cut);
    if (best_s >= 0 && seconds >= best_s) continue;
    best_s = seconds;
    compiled.synchronisation = synchronisation;
  }
  return compiled;
}

int transmit(const Call& call, antiphon_schedule_s& s) {
  CommState* const state = CommState::of(call.comm);
  if (state == nullptr) return ANTIPHON_BAD_COMM;
  const Description d = describe(call, state->rank(), state->size());
  if (!d.schedulable) return ANTIPHON_BAD_PATTERN;
  Problem& problem = state->blank_problem(Collective::alltoallv);
  make_problem(d, problem);
  if (!s.own.fits(problem)) return ANTIPHON_BAD_PATTERN;
  Workspace workspace(d, problem, state->staging());
  s.exchange->prepare(problem, s.own.way());
  int rc = workspace.prepare(s.exchange->scratch_bytes());
  if (rc == MPI_SUCCESS) rc = s.exchange->run(workspace.binding());
  if (rc == MPI_SUCCESS) rc = workspace.finish();
  if (rc == MPI_SUCCESS) return ANTIPHON_OK;
  PMPI_Comm_call_errhandler(call.comm, rc);
  return ANTIPHON_MPI_ERROR;
}

Call alltoallv_call(const void* sendbuf, const int* sendcounts, const int* sdispls, MPI_Datatype sendtype,
                    void* recvbuf, const int* recvcounts, const int* rdispls, MPI_Datatype recvtype, MPI_Comm comm) {
  return {.collective = Collective::alltoallv,
          .comm = comm,
          .sendbuf = sendbuf,
          .recvbuf = recvbuf,
          .sendtype = sendtype,
          .recvtype = recvtype,
          .sendcounts = sendcounts,
          .senddispls = sdispls,
          .recvcounts = recvcounts,
          .recvdispls = rdispls};
}

int init(const Call& call, MPI_Request* request) {
  if (!world.active || !world.restarts_requests) return ANTIPHON_ABSENT;
  int result = MPI_SUCCESS;
  if (!persistent::init(call, request, result, true)) return ANTIPHON_BAD_COMM;
  return result == MPI_SUCCESS ? ANTIPHON_OK : ANTIPHON_MPI_ERROR;
}

}  // namespace

extern "C" {

ANTIPHON_EXPORT int antiphon_impl_control1(const int sendcounts[], MPI_Datatype sendtype, MPI_Comm comm,
                                           antiphon_schedule* schedule) {
  return make_schedule(comm, schedule, [&](CommState& state) {
    // A rank that cannot say what it sends must tell the others, because they wait for its counts.
    TypeInfo info;
    const bool good = inspect(sendtype, info);
    std::vector<std::int64_t> own(static_cast<std::size_t>(state.size()));
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = good ? sendcounts[i] * info.size_bytes : -1;
    std::vector<std::int64_t> all(own.size() * own.size());
    if (state.collectives(state.own_comm()).gather(own, all.data()) != MPI_SUCCESS)
      throw Error("the counts cannot be gathered");
    return from_table(all, state);
  });
}

ANTIPHON_EXPORT int antiphon_impl_control2(const long long bytes[], MPI_Comm comm, antiphon_schedule* schedule) {
  return make_schedule(comm, schedule, [&](CommState& state) {
    const auto cells = static_cast<std::size_t>(state.size()) * static_cast<std::size_t>(state.size());
    return from_table(std::vector<std::int64_t>(bytes, bytes + cells), state);
  });
}

ANTIPHON_EXPORT int antiphon_impl_control3(const antiphon_part parts[], int count, MPI_Comm comm,
                                           antiphon_schedule* schedule) {
  return make_schedule(comm, schedule, [&](CommState& state) { return from_parts(parts, count, state); });
}

ANTIPHON_EXPORT int antiphon_impl_schedule_parts(antiphon_schedule schedule, antiphon_part parts[], int capacity,
                                                 int* count) {
  if (schedule == nullptr) return ANTIPHON_BAD_PATTERN;
  int n = 0;
  int number = 0;
  for (const PhaseOfParts& phase : schedule->compiled.phases.phases) {
    for (const Part& p : phase.parts) {
      if (n < capacity) parts[n] = {number, p.from, p.to, p.offset_bytes, p.bytes};
      ++n;
    }
    ++number;
  }
  *count = n;
  return ANTIPHON_OK;
}

ANTIPHON_EXPORT int antiphon_impl_schedule_free(antiphon_schedule* schedule) {
  delete *schedule;
  *schedule = nullptr;
  return ANTIPHON_OK;
}

ANTIPHON_EXPORT int antiphon_impl_data_trans1(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                              MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                              const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm) {
  const Call call =
      alltoallv_call(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
  CommState* const state = world.active ? CommState::of(comm) : nullptr;
  Description d;
  if (state != nullptr) d = describe(call, state->rank(), state->size());
  if (!d.schedulable) {
    return PMPI_Alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
  }
  // This choice has everything under way at once, and the phases are to be compared with it.
  static const Choice windowed = parse_choice(Collective::alltoallv, "windowed:window=1024");
  Problem& problem = state->blank_problem(Collective::alltoallv);
  make_problem(d, problem);
  int rc = MPI_SUCCESS;
  try {
    PreparedSchedule* const prepared = state->prepared(problem, windowed);
    Workspace workspace(d, prepared->problem, state->staging());
    rc = workspace.prepare(prepared->executor->scratch_bytes());
    if (rc == MPI_SUCCESS) rc = prepared->executor->run(workspace.binding());
    if (rc == MPI_SUCCESS) rc = workspace.finish();
  } catch (const NoMoreCommunicators&) {
    return PMPI_Alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
  } catch (const std::exception&) {
    rc = MPI_ERR_NO_MEM;
  }
  if (rc != MPI_SUCCESS) PMPI_Comm_call_errhandler(comm, rc);
  return rc;
}

ANTIPHON_EXPORT int antiphon_impl_data_trans2(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                              MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                              const int rdispls[], MPI_Datatype recvtype, antiphon_schedule schedule) {
  if (schedule == nullptr) return ANTIPHON_BAD_PATTERN;
  try {
    return transmit(
        alltoallv_call(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, schedule->comm),
        *schedule);
  } catch (const std::exception&) {
    return ANTIPHON_BAD_PATTERN;
  }
}

ANTIPHON_EXPORT int antiphon_impl_alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                                 MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                                 const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                                                 MPI_Request* request) {
  return init(alltoallv_call(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm),
              request);
}

ANTIPHON_EXPORT int antiphon_impl_neighbor_alltoallv_init(const void* sendbuf, const int sendcounts[],
                                                          const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                                          const int recvcounts[], const int rdispls[],
                                                          MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
  Call call = alltoallv_call(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
  call.form = Form::neighbor_alltoallv;
  return init(call, request);
}

ANTIPHON_EXPORT int antiphon_impl_alltoallw_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                                 const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                                 const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                                                 MPI_Request* request) {
  return init({.collective = Collective::alltoallv,
               .form = Form::alltoallw,
               .comm = comm,
               .sendbuf = sendbuf,
               .recvbuf = recvbuf,
               .sendcounts = sendcounts,
               .senddispls = sdispls,
               .recvcounts = recvcounts,
               .recvdispls = rdispls,
               .sendtypes = sendtypes,
               .recvtypes = recvtypes},
              request);
}

ANTIPHON_EXPORT int antiphon_impl_neighbor_alltoallw_init(const void* sendbuf, const int sendcounts[],
                                                          const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                                          void* recvbuf, const int recvcounts[],
                                                          const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                                          MPI_Comm comm, MPI_Request* request) {
  return init({.collective = Collective::alltoallv,
               .form = Form::neighbor_alltoallw,
               .comm = comm,
               .sendbuf = sendbuf,
               .recvbuf = recvbuf,
               .sendcounts = sendcounts,
               .senddispls = sdispls,
               .recvcounts = recvcounts,
               .recvdispls = rdispls,
               .sendtypes = sendtypes,
               .recvtypes = recvtypes},
              request);
}

}  // extern "C"
