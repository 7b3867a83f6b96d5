// SPDX-License-Identifier: Apache-2.0
#include "entry/waits.hpp"

#include <sched.h>

#include <cstddef>
#include <limits>
#include <memory>
#include <new>

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
    if (world.yields == Yields::here) sched_yield();
  }
}

/// Calls a function of messages as they travel: framed, or the library's own.
template <class Framed, class Plain, class... Arguments>
int by_form(Framed framed, Plain plain, Arguments... arguments) {
  return framing() ? framed(arguments...) : plain(arguments...);
}

int finish_request(MPI_Request& request, MPI_Status* status) {
  MPI_Status unwanted;
  MPI_Status* const to = status == nullptr || status == MPI_STATUS_IGNORE ? &unwanted : status;
  return poll([&](int* through) { return by_form(framed::test, PMPI_Test, &request, through, to); });
}

int test_all(const P2pCall& c, MPI_Request* requests, MPI_Status* statuses) {
  return poll([&](int* through) {
    return by_form(framed::testall, PMPI_Testall, c.request_count, requests, through, statuses);
  });
}

/// Waits for one request after the other, and ends all at once. MPICH's MPI_Testall fails where one is partitioned.
int finish_all(const P2pCall& c, MPI_Request* requests, MPI_Status* statuses) {
  int at = 0;
  poll([&](int* through) {
    for (*through = 1; at < c.request_count; ++at) {
      MPI_Status unwanted;
      const int rc = by_form(framed::request_get_status, PMPI_Request_get_status, requests[at], through, &unwanted);
      // What has failed is over, and MPI_Waitall reports it.
      if (rc == MPI_SUCCESS && *through == 0) return MPI_SUCCESS;
    }
    *through = 1;
    return MPI_SUCCESS;
  });
  return by_form(framed::waitall, PMPI_Waitall, c.request_count, requests, statuses);
}

/// Starts the nonblocking form of a blocking send or receive. False: it is neither.
bool start_message(const P2pCall& c, int count, MPI_Request* request, int& result) {
  auto* const buffer = const_cast<void*>(c.buffer);
  auto* const message = const_cast<MPI_Message*>(c.message);
  const auto start = [&](auto framed_call, auto plain_call) {
    result = by_form(framed_call, plain_call, buffer, count, c.type, c.peer, c.tag, c.comm, request);
    return true;
  };
  switch (c.call) {
    case P2p::send: return start(framed::isend, PMPI_Isend);
    case P2p::ssend: return start(framed::issend, PMPI_Issend);
    case P2p::rsend: return start(framed::irsend, PMPI_Irsend);
    case P2p::recv: return start(framed::irecv, PMPI_Irecv);
    case P2p::mrecv:
      result = by_form(framed::imrecv, PMPI_Imrecv, buffer, count, c.type, message, request);
      return true;
    default: return false;
  }
}

int exchange_messages(const P2pCall& c, int count, MPI_Status* status) {
  auto* const to = const_cast<void*>(c.recv_buffer);
  const auto wanted = static_cast<int>(c.recv_count);
  MPI_Request received = MPI_REQUEST_NULL;
  MPI_Request sent = MPI_REQUEST_NULL;
  int result = by_form(framed::irecv, PMPI_Irecv, to, wanted, c.recv_type, c.source, c.recv_tag, c.comm, &received);
  if (result != MPI_SUCCESS) return result;
  result = by_form(framed::isend, PMPI_Isend, c.buffer, count, c.type, c.peer, c.tag, c.comm, &sent);
  if (result != MPI_SUCCESS) {
    // Nothing may come into the program's buffer after the call.
    by_form(framed::cancel, PMPI_Cancel, &received);
    finish_request(received, nullptr);
    return result;
  }
  result = finish_request(received, status);
  const int end_of_send = finish_request(sent, nullptr);
  return result == MPI_SUCCESS ? end_of_send : result;
}

/// Tells whether the packed message is too long for an int. The library must exchange such a one.
bool is_long(const P2pCall& c) {
  MPI_Count size = 0;
  return c.type != MPI_DATATYPE_NULL && PMPI_Type_size_x(c.type, &size) == MPI_SUCCESS &&
         c.count * size > std::numeric_limits<int>::max() / 2;
}

/// Sends a copy of what the receive replaces: MPICH's nonblocking form reports no status of that.
int replace_message(const P2pCall& c, int count, MPI_Status* status) {
  int bytes = 0;
  int packed_bytes = 0;
  int result = PMPI_Pack_size(count, c.type, c.comm, &bytes);
  if (result != MPI_SUCCESS) return result;
  const std::unique_ptr<char[]> packed(new (std::nothrow) char[static_cast<std::size_t>(bytes)]);
  if (packed == nullptr) {
    PMPI_Comm_call_errhandler(c.comm, MPI_ERR_NO_MEM);
    return MPI_ERR_NO_MEM;
  }
  result = PMPI_Pack(c.buffer, count, c.type, packed.get(), bytes, &packed_bytes, c.comm);
  if (result != MPI_SUCCESS) return result;
  P2pCall sends = c;
  sends.buffer = packed.get();
  sends.type = MPI_PACKED;
  return exchange_messages(sends, packed_bytes, status);
}

}  // namespace

bool wait_for_requests(const P2pCall& c, int& result) {
  auto* const requests = const_cast<MPI_Request*>(c.requests);
  auto* const statuses = const_cast<MPI_Status*>(c.statuses);
  auto* const index = const_cast<int*>(c.index);
  auto* const done = const_cast<int*>(c.done);
  switch (c.call) {
    case P2p::wait:
      result = poll([&](int* t) { return by_form(framed::test, PMPI_Test, requests, t, statuses); });
      return true;
    case P2p::waitall:
      result = world.mpi == "mpich" ? finish_all(c, requests, statuses) : test_all(c, requests, statuses);
      return true;
    case P2p::waitany:
      result = poll([&](int* t) {
        return by_form(framed::testany, PMPI_Testany, c.request_count, requests, index, t, statuses);
      });
      return true;
    case P2p::waitsome:
      result = poll([&](int* t) {
        auto* const indices = const_cast<int*>(c.indices);
        const int rc = by_form(framed::testsome, PMPI_Testsome, c.request_count, requests, done, indices, statuses);
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
  auto* const message = const_cast<MPI_Message*>(c.message);
  const auto count = static_cast<int>(c.count);
  if (count != c.count || c.recv_count != static_cast<int>(c.recv_count)) return false;
  switch (c.call) {
    case P2p::probe:
      result = poll([&](int* t) { return by_form(framed::iprobe, PMPI_Iprobe, c.peer, c.tag, c.comm, t, status); });
      return true;
    case P2p::mprobe:
      result = poll(
          [&](int* t) { return by_form(framed::improbe, PMPI_Improbe, c.peer, c.tag, c.comm, t, message, status); });
      return true;
    case P2p::sendrecv: result = exchange_messages(c, count, status); return true;
    case P2p::sendrecv_replace:
      if (is_long(c)) return false;
      result = replace_message(c, count, status);
      return true;
    default: break;
  }
  MPI_Request request = MPI_REQUEST_NULL;
  if (!start_message(c, count, &request, result)) return false;
  if (result == MPI_SUCCESS) result = finish_request(request, status);
  return true;
}

int wait_for(MPI_Request& request) {
  return poll([&](int* through) { return PMPI_Test(&request, through, MPI_STATUS_IGNORE); });
}

}  // namespace antiphon::mpi
