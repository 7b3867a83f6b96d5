// SPDX-License-Identifier: Apache-2.0
#include "entry/waits.hpp"

#include <sched.h>

#include "compress/framed.hpp"
#include "job/progress.hpp"
#include "job/world.hpp"

namespace antiphon::mpi {

namespace {

/// Tries repeatedly, and advances schedules meanwhile. `attempt` sets its flag when it is complete.
template <class Attempt>
int poll(Attempt&& attempt) {
  while (true) {
    make_progress();
    int through = 0;
    const int rc = attempt(&through);
    if (rc != MPI_SUCCESS || through != 0) return rc;
    if (world.yields) sched_yield();
  }
}

int finish_request(MPI_Request& request, MPI_Status* status) {
  return poll([&](int* through) { return PMPI_Test(&request, through, status); });
}

}  // namespace

bool wait_for_requests(const P2pCall& c, int& result) {
  auto* const requests = const_cast<MPI_Request*>(c.requests);
  auto* const statuses = const_cast<MPI_Status*>(c.statuses);
  auto* const index = const_cast<int*>(c.index);
  auto* const done = const_cast<int*>(c.done);
  switch (c.call) {
    case P2p::wait:
      result = poll(
          [&](int* t) { return framing() ? framed::test(requests, t, statuses) : PMPI_Test(requests, t, statuses); });
      return true;
    case P2p::waitall:
      result = poll([&](int* t) {
        return framing() ? framed::testall(c.request_count, requests, t, statuses)
                         : PMPI_Testall(c.request_count, requests, t, statuses);
      });
      return true;
    case P2p::waitany:
      result = poll([&](int* t) {
        return framing() ? framed::testany(c.request_count, requests, index, t, statuses)
                         : PMPI_Testany(c.request_count, requests, index, t, statuses);
      });
      return true;
    case P2p::waitsome:
      result = poll([&](int* t) {
        auto* const indices = const_cast<int*>(c.indices);
        const int rc = framing() ? framed::testsome(c.request_count, requests, done, indices, statuses)
                                 : PMPI_Testsome(c.request_count, requests, done, indices, statuses);
        *t = *done != 0;
        return rc;
      });
      return true;
    default: return false;
  }
}

/// Turns blocking messages into nonblocking ones, and waits for those while schedules advance.
bool wait_for_message(const P2pCall& c, int& result) {
  auto* const status = const_cast<MPI_Status*>(c.statuses);
  auto* const buffer = const_cast<void*>(c.buffer);
  auto* const message = const_cast<MPI_Message*>(c.message);
  const auto count = static_cast<int>(c.count);
  if (count != c.count || c.recv_count != static_cast<int>(c.recv_count)) return false;
  MPI_Request request = MPI_REQUEST_NULL;
  switch (c.call) {
    case P2p::send: result = PMPI_Isend(buffer, count, c.type, c.peer, c.tag, c.comm, &request); break;
    case P2p::ssend: result = PMPI_Issend(buffer, count, c.type, c.peer, c.tag, c.comm, &request); break;
    case P2p::rsend: result = PMPI_Irsend(buffer, count, c.type, c.peer, c.tag, c.comm, &request); break;
    case P2p::recv: result = PMPI_Irecv(buffer, count, c.type, c.peer, c.tag, c.comm, &request); break;
    case P2p::mrecv: result = PMPI_Imrecv(buffer, count, c.type, message, &request); break;
    case P2p::probe: result = poll([&](int* t) { return PMPI_Iprobe(c.peer, c.tag, c.comm, t, status); }); return true;
    case P2p::mprobe:
      result = poll([&](int* t) { return PMPI_Improbe(c.peer, c.tag, c.comm, t, message, status); });
      return true;
    case P2p::sendrecv: {
      MPI_Request sent = MPI_REQUEST_NULL;
      result = PMPI_Irecv(const_cast<void*>(c.recv_buffer), static_cast<int>(c.recv_count), c.recv_type, c.source,
                          c.recv_tag, c.comm, &request);
      if (result == MPI_SUCCESS) result = PMPI_Isend(buffer, count, c.type, c.peer, c.tag, c.comm, &sent);
      if (result == MPI_SUCCESS) result = finish_request(request, status);
      if (result == MPI_SUCCESS) result = finish_request(sent, MPI_STATUS_IGNORE);
      return true;
    }
    default: return false;
  }
  if (result == MPI_SUCCESS) result = finish_request(request, status == nullptr ? MPI_STATUS_IGNORE : status);
  return true;
}

int wait_for(MPI_Request& request) { return finish_request(request, MPI_STATUS_IGNORE); }

}  // namespace antiphon::mpi
