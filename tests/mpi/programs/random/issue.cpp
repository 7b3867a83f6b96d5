// SPDX-License-Identifier: Apache-2.0
// The calls of MPI behind each kind, form and width of counts.
#include "operation.hpp"

namespace {

struct Ints {
  int sc, rc;
  const int *scs, *rcs, *sds, *rds;
  explicit Ints(const Operation& o)
      : sc(static_cast<int>(o.scount)), rc(static_cast<int>(o.rcount)), scs(o.scounts.ints.data()),
        rcs(o.rcounts.ints.data()), sds(o.sdispls.ints.data()), rds(o.rdispls.ints.data()) {}
};

struct Counts {
  MPI_Count sc, rc;
  const MPI_Count *scs, *rcs;
  const MPI_Aint *sds, *rds;
  explicit Counts(const Operation& o)
      : sc(o.scount), rc(o.rcount), scs(o.scounts.counts.data()), rcs(o.rcounts.counts.data()),
        sds(o.sdispls.places.data()), rds(o.rdispls.places.data()) {}
};

#ifdef HAVE_PERSISTENT
#define PERSISTENT(Upper, suffix, ...) MPI_##Upper##_init##suffix(__VA_ARGS__, MPI_INFO_NULL, &o.request)
#else
#define PERSISTENT(Upper, suffix, ...) MPI_ERR_OTHER
#endif
#define FORM(Upper, lower, suffix, ...)                                          \
  (o.form == Form::blocking      ? MPI_##Upper##suffix(__VA_ARGS__)              \
   : o.form == Form::nonblocking ? MPI_I##lower##suffix(__VA_ARGS__, &o.request) \
                                 : PERSISTENT(Upper, suffix, __VA_ARGS__))
#ifdef HAVE_LARGE
#define WIDTHS(Upper, lower, ...)               \
  if (o.large) {                                \
    const Counts n(o);                          \
    return FORM(Upper, lower, _c, __VA_ARGS__); \
  }                                             \
  const Ints n(o);                              \
  return FORM(Upper, lower, , __VA_ARGS__)
#else
#define WIDTHS(Upper, lower, ...) \
  const Ints n(o);                \
  return FORM(Upper, lower, , __VA_ARGS__)
#endif
#define ALIKE(Upper, lower, ...) WIDTHS(Upper, lower, o.sendbuf, n.sc, o.stype, o.recvbuf, n.rc, o.rtype, __VA_ARGS__)

int issue_rooted(Operation& o) {
  switch (o.kind) {
    case Kind::barrier: return FORM(Barrier, barrier, , o.comm);
    case Kind::bcast: {
      WIDTHS(Bcast, bcast, o.recvbuf, n.rc, o.rtype, o.root, o.comm);
    }
    case Kind::gather: {
      ALIKE(Gather, gather, o.root, o.comm);
    }
    case Kind::scatter: {
      ALIKE(Scatter, scatter, o.root, o.comm);
    }
    case Kind::gatherv: {
      WIDTHS(Gatherv, gatherv, o.sendbuf, n.sc, o.stype, o.recvbuf, n.rcs, n.rds, o.rtype, o.root, o.comm);
    }
    default: {
      WIDTHS(Scatterv, scatterv, o.sendbuf, n.scs, n.sds, o.stype, o.recvbuf, n.rc, o.rtype, o.root, o.comm);
    }
  }
}

int issue_all(Operation& o) {
  switch (o.kind) {
    case Kind::allgather: {
      ALIKE(Allgather, allgather, o.comm);
    }
    case Kind::allgatherv: {
      WIDTHS(Allgatherv, allgatherv, o.sendbuf, n.sc, o.stype, o.recvbuf, n.rcs, n.rds, o.rtype, o.comm);
    }
    case Kind::alltoall: {
      ALIKE(Alltoall, alltoall, o.comm);
    }
    case Kind::alltoallv: {
      WIDTHS(Alltoallv, alltoallv, o.sendbuf, n.scs, n.sds, o.stype, o.recvbuf, n.rcs, n.rds, o.rtype, o.comm);
    }
    default: {
      WIDTHS(Alltoallw, alltoallw, o.sendbuf, n.scs, n.sds, o.stypes.data(), o.recvbuf, n.rcs, n.rds, o.rtypes.data(),
             o.comm);
    }
  }
}

int issue_reduction(Operation& o) {
  switch (o.kind) {
    case Kind::reduce: {
      WIDTHS(Reduce, reduce, o.sendbuf, o.recvbuf, n.rc, o.rtype, o.op, o.root, o.comm);
    }
    case Kind::allreduce: {
      WIDTHS(Allreduce, allreduce, o.sendbuf, o.recvbuf, n.rc, o.rtype, o.op, o.comm);
    }
    case Kind::reduce_scatter: {
      WIDTHS(Reduce_scatter, reduce_scatter, o.sendbuf, o.recvbuf, n.rcs, o.rtype, o.op, o.comm);
    }
    case Kind::reduce_scatter_block: {
      WIDTHS(Reduce_scatter_block, reduce_scatter_block, o.sendbuf, o.recvbuf, n.rc, o.rtype, o.op, o.comm);
    }
    case Kind::scan: {
      WIDTHS(Scan, scan, o.sendbuf, o.recvbuf, n.rc, o.rtype, o.op, o.comm);
    }
    default: {
      WIDTHS(Exscan, exscan, o.sendbuf, o.recvbuf, n.rc, o.rtype, o.op, o.comm);
    }
  }
}

int issue_neighbours(Operation& o) {
  const MPI_Aint *sas = o.sdispls.places.data(), *ras = o.rdispls.places.data();
  switch (o.kind) {
    case Kind::neighbor_allgather: {
      ALIKE(Neighbor_allgather, neighbor_allgather, o.comm);
    }
    case Kind::neighbor_allgatherv: {
      WIDTHS(Neighbor_allgatherv, neighbor_allgatherv, o.sendbuf, n.sc, o.stype, o.recvbuf, n.rcs, n.rds, o.rtype,
             o.comm);
    }
    case Kind::neighbor_alltoall: {
      ALIKE(Neighbor_alltoall, neighbor_alltoall, o.comm);
    }
    case Kind::neighbor_alltoallv: {
      WIDTHS(Neighbor_alltoallv, neighbor_alltoallv, o.sendbuf, n.scs, n.sds, o.stype, o.recvbuf, n.rcs, n.rds, o.rtype,
             o.comm);
    }
    default: {
      WIDTHS(Neighbor_alltoallw, neighbor_alltoallw, o.sendbuf, n.scs, sas, o.stypes.data(), o.recvbuf, n.rcs, ras,
             o.rtypes.data(), o.comm);
    }
  }
}

}  // namespace

int Operation::issue() {
  if (kind <= Kind::scatterv) return issue_rooted(*this);
  if (kind <= Kind::alltoallw) return issue_all(*this);
  if (kind <= Kind::exscan) return issue_reduction(*this);
  return issue_neighbours(*this);
}
