// SPDX-License-Identifier: Apache-2.0
#include "entry/aside.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "call/narrowed.hpp"
#include "call/significant.hpp"
#include "entry/waits.hpp"

namespace antiphon::mpi {

namespace {

/// A count that is `int` in one of the library's functions and MPI_Count in another.
struct Count {
  std::int64_t value;
  template <class T>
  operator T() const {  // NOLINT(google-explicit-constructor)
    return static_cast<T>(value);
  }
};

/// An array of counts or places, as `Integers`.
struct Array {
  Integers values;
  operator const int*() const { return values.small(); }  // NOLINT(google-explicit-constructor)
  template <class T>
  operator const T*() const {  // NOLINT(google-explicit-constructor)
    static_assert(sizeof(T) == sizeof(long));
    return reinterpret_cast<const T*>(values.large());
  }
};

/// Starts calls by the library's functions for small counts or by those for large ones. The others' calls match both.
struct Start {
  const Call& call;
  bool small;  ///< all counts and places that mean something fit int

  template <class... Small, class Large, class... Arguments>
  int operator()(int (*by_small)(Small...), [[maybe_unused]] Large by_large, Arguments... arguments) const {
    if constexpr (!std::is_same_v<Large, std::nullptr_t>) {
      if (!small) return by_large(arguments...);
    }
    return by_small(arguments...);
  }
};

// Names both functions; a library without large counts has one.
#if ANTIPHON_HAS_LARGE_COUNT
#define ANTIPHON_BOTH(name) PMPI_##name, PMPI_##name##_c
#else
#define ANTIPHON_BOTH(name) PMPI_##name, nullptr
#endif

/// Starts alltoallw or a neighbour collective.
int start_form(const Start& start, MPI_Request* request) {
  const Call& c = start.call;
  const Count sn{c.sendcount};
  const Count rn{c.recvcount};
  const Array scounts{c.sendcounts}, sdispls{c.senddispls}, rcounts{c.recvcounts}, rdispls{c.recvdispls};
  switch (c.form) {
    case Form::alltoallw:
      return start(ANTIPHON_BOTH(Ialltoallw), c.sendbuf, scounts, sdispls, c.sendtypes, c.recvbuf, rcounts, rdispls,
                   c.recvtypes, c.comm, request);
    case Form::neighbor_allgather:
      return start(ANTIPHON_BOTH(Ineighbor_allgather), c.sendbuf, sn, c.sendtype, c.recvbuf, rn, c.recvtype, c.comm,
                   request);
    case Form::neighbor_allgatherv:
      return start(ANTIPHON_BOTH(Ineighbor_allgatherv), c.sendbuf, sn, c.sendtype, c.recvbuf, rcounts, rdispls,
                   c.recvtype, c.comm, request);
    case Form::neighbor_alltoall:
      return start(ANTIPHON_BOTH(Ineighbor_alltoall), c.sendbuf, sn, c.sendtype, c.recvbuf, rn, c.recvtype, c.comm,
                   request);
    case Form::neighbor_alltoallv:
      return start(ANTIPHON_BOTH(Ineighbor_alltoallv), c.sendbuf, scounts, sdispls, c.sendtype, c.recvbuf, rcounts,
                   rdispls, c.recvtype, c.comm, request);
    default:
      return start(ANTIPHON_BOTH(Ineighbor_alltoallw), c.sendbuf, scounts, sdispls, c.sendtypes, c.recvbuf, rcounts,
                   rdispls, c.recvtypes, c.comm, request);
  }
}

/// Starts a plain collective that moves data.
int start_movement(const Start& start, MPI_Request* request) {
  const Call& c = start.call;
  const Count sn{c.sendcount};
  const Count rn{c.recvcount};
  const Array scounts{c.sendcounts}, sdispls{c.senddispls}, rcounts{c.recvcounts}, rdispls{c.recvdispls};
  switch (c.collective) {
    case Collective::barrier: return PMPI_Ibarrier(c.comm, request);
    case Collective::bcast: return start(ANTIPHON_BOTH(Ibcast), c.recvbuf, sn, c.sendtype, c.root, c.comm, request);
    case Collective::scatter:
      return start(ANTIPHON_BOTH(Iscatter), c.sendbuf, sn, c.sendtype, c.recvbuf, rn, c.recvtype, c.root, c.comm,
                   request);
    case Collective::scatterv:
      return start(ANTIPHON_BOTH(Iscatterv), c.sendbuf, scounts, sdispls, c.sendtype, c.recvbuf, rn, c.recvtype, c.root,
                   c.comm, request);
    case Collective::gather:
      return start(ANTIPHON_BOTH(Igather), c.sendbuf, sn, c.sendtype, c.recvbuf, rn, c.recvtype, c.root, c.comm,
                   request);
    case Collective::gatherv:
      return start(ANTIPHON_BOTH(Igatherv), c.sendbuf, sn, c.sendtype, c.recvbuf, rcounts, rdispls, c.recvtype, c.root,
                   c.comm, request);
    case Collective::allgather:
      return start(ANTIPHON_BOTH(Iallgather), c.sendbuf, sn, c.sendtype, c.recvbuf, rn, c.recvtype, c.comm, request);
    case Collective::allgatherv:
      return start(ANTIPHON_BOTH(Iallgatherv), c.sendbuf, sn, c.sendtype, c.recvbuf, rcounts, rdispls, c.recvtype,
                   c.comm, request);
    case Collective::alltoall:
      return start(ANTIPHON_BOTH(Ialltoall), c.sendbuf, sn, c.sendtype, c.recvbuf, rn, c.recvtype, c.comm, request);
    default:
      return start(ANTIPHON_BOTH(Ialltoallv), c.sendbuf, scounts, sdispls, c.sendtype, c.recvbuf, rcounts, rdispls,
                   c.recvtype, c.comm, request);
  }
}

/// Starts a reduction.
int start_reduction(const Start& start, MPI_Request* request) {
  const Call& c = start.call;
  const Count sn{c.sendcount};
  const Count rn{c.recvcount};
  const Array rcounts{c.recvcounts};
  switch (c.collective) {
    case Collective::reduce:
      return start(ANTIPHON_BOTH(Ireduce), c.sendbuf, c.recvbuf, sn, c.sendtype, c.op, c.root, c.comm, request);
    case Collective::allreduce:
      return start(ANTIPHON_BOTH(Iallreduce), c.sendbuf, c.recvbuf, sn, c.sendtype, c.op, c.comm, request);
    case Collective::reduce_scatter:
      return start(ANTIPHON_BOTH(Ireduce_scatter), c.sendbuf, c.recvbuf, rcounts, c.sendtype, c.op, c.comm, request);
    case Collective::reduce_scatter_block:
      return start(ANTIPHON_BOTH(Ireduce_scatter_block), c.sendbuf, c.recvbuf, rn, c.sendtype, c.op, c.comm, request);
    case Collective::scan:
      return start(ANTIPHON_BOTH(Iscan), c.sendbuf, c.recvbuf, sn, c.sendtype, c.op, c.comm, request);
    default: return start(ANTIPHON_BOTH(Iexscan), c.sendbuf, c.recvbuf, sn, c.sendtype, c.op, c.comm, request);
  }
}

#undef ANTIPHON_BOTH

int start_call(const Start& start, MPI_Request* request) {
  if (start.call.form != Form::plain) return start_form(start, request);
  return is_reduction(start.call.collective) ? start_reduction(start, request) : start_movement(start, request);
}

/// Returns the call with small counts and places, which libraries without large ones need.
Call with_small_counts(Call c, Narrowed& narrowed) {
  const Significant lengths = significant(c);
  c.sendcount = narrowed.count(c.sendcount, lengths.send);
  c.recvcount = narrowed.count(c.recvcount, lengths.receive);
  c.sendcounts = narrowed.array(c.sendcounts, lengths.send);
  c.recvcounts = narrowed.array(c.recvcounts, lengths.receive);
  if (c.form == Form::neighbor_alltoallw) return c;  // its places are never small
  c.senddispls = narrowed.array(c.senddispls, lengths.send);
  c.recvdispls = narrowed.array(c.recvdispls, lengths.receive);
  return c;
}

}  // namespace

int run_aside(const Call& given) {
  Narrowed narrowed;
  const Call narrow = with_small_counts(given, narrowed);
  MPI_Request request = MPI_REQUEST_NULL;
  const int rc = start_call({narrowed.fits() ? narrow : given, narrowed.fits()}, &request);
  return rc == MPI_SUCCESS ? wait_for(request) : rc;
}

}  // namespace antiphon::mpi
