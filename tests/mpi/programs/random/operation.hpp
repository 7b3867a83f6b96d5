// SPDX-License-Identifier: Apache-2.0
// One call under way: its arguments, its buffers, and what must come out.
#pragma once

#include <memory>

#include "area.hpp"

#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define HAVE_PERSISTENT 1
#endif
#if MPI_VERSION >= 4
#define HAVE_LARGE 1
#endif

enum class Kind {
  barrier,
  bcast,
  gather,
  gatherv,
  scatter,
  scatterv,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  alltoallw,
  reduce,
  allreduce,
  reduce_scatter,
  reduce_scatter_block,
  scan,
  exscan,
  neighbor_allgather,
  neighbor_allgatherv,
  neighbor_alltoall,
  neighbor_alltoallv,
  neighbor_alltoallw,
};

enum class Form { blocking, nonblocking, persistent };

/// Numbers as each form of a call wants them.
struct Numbers {
  std::vector<int> ints;
  std::vector<MPI_Count> counts;
  std::vector<MPI_Aint> places;
  void add(long number) {
    ints.push_back(static_cast<int>(number));
    counts.push_back(number);
    places.push_back(number);
  }
};

struct Operation {
  Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  ~Operation() { free_handles(); }

  Kind kind = Kind::barrier;
  Form form = Form::blocking;
  bool large = false;
  MPI_Comm comm = MPI_COMM_NULL;
  const void* sendbuf = nullptr;
  void* recvbuf = nullptr;
  long scount = 0, rcount = 0;
  MPI_Datatype stype = MPI_BYTE, rtype = MPI_BYTE;
  Numbers scounts, sdispls, rcounts, rdispls;
  std::vector<MPI_Datatype> stypes, rtypes;
  int root = 0;
  MPI_Op op = MPI_SUM;

  MPI_Request request = MPI_REQUEST_NULL;
  Area send, receive;
  std::string what;
  std::vector<MPI_Datatype> own_types;
  bool has_own_op = false;
  bool frees_early = false;  // handles are freed while the call is under way
  std::function<std::string(const MPI_Status&)> judge_status;
  std::function<void()> at_end;

  /// Starts the call, and returns MPI's error code.
  int issue();
  void fill(uint64_t seed) {
    send.fill(seed, 1);
    receive.fill(seed, 2);
  }
  void keep(const Layout& layout) {
    if (layout.is_own) own_types.push_back(layout.type);
  }
  void free_handles() {
    for (MPI_Datatype& type : own_types) MPI_Type_free(&type);
    own_types.clear();
    if (has_own_op) MPI_Op_free(&op);
    has_own_op = false;
  }
};
