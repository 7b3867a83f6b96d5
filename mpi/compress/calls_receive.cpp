// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "compress/framed.hpp"
#include "compress/starting.hpp"
#include "compress/tracked.hpp"

namespace antiphon::mpi {

int report(int code, int library_code, MPI_Comm comm) {
  if (code == MPI_SUCCESS || library_code != MPI_SUCCESS) return code;
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

bool take_extracted(Messages& messages, int source, int tag, Extracted& message) {
  if (messages.extracted_count.load(std::memory_order_relaxed) == 0) return false;
  const auto found = std::find_if(messages.extracted.begin(), messages.extracted.end(),
                                  [&](const Extracted& m) { return m.suits(source, tag); });
  if (found == messages.extracted.end()) return false;
  message = std::move(*found);
  messages.extracted.erase(found);
  messages.extracted_count.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

namespace {

int query(void*, MPI_Status* status) {
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  PMPI_Status_set_elements(status, MPI_BYTE, 0);
  PMPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
int release(void*) { return MPI_SUCCESS; }
int refuse(void*, int) { return MPI_SUCCESS; }

/// Posts the receive, or takes its message from those that a probe took out.
int post(std::unique_ptr<Receive> receive, MPI_Request* request) {
  Receive& r = *receive;
  std::unique_lock matching(r.messages->matching);
  int result = MPI_SUCCESS;
  if (Extracted message; take_extracted(*r.messages, r.wanted.peer, r.wanted.tag, message)) {
    result = begin_extracted(r, matching, std::move(message), request);
  } else {
    keep_apart(r);
    result = native::irecv(r.buffer(), r.count(), r.type(), r.wanted.peer, r.wanted.tag, r.wanted.comm, request);
    if (result == MPI_SUCCESS) list_receive(r, *request);
    matching.unlock();
  }
  if (result == MPI_SUCCESS) track_receive(std::move(receive), *request);
  return result;
}

/// Receives in a process with a single thread: no other thread posts receives meanwhile, so this one need not be
/// listed.
int receive_here(Receive& r, MPI_Status* status) {
  Extracted message;
  std::unique_lock matching(r.messages->matching);
  const bool got = take_extracted(*r.messages, r.wanted.peer, r.wanted.tag, message);
  matching.unlock();
  if (got) return receive_extracted(r, std::move(message), status);
  r.ticket = UINT64_MAX;
  const int code = native::recv(r.buffer(), r.count(), r.type(), r.wanted.peer, r.wanted.tag, r.wanted.comm, status);
  return report(finish(r, *status, code), code, r.wanted.comm);
}

/// Receives a message that take_extracted() gave, and waits for it. Returns the code for the program, and the
/// library's.
int complete_extracted(Receive& r, Extracted message, MPI_Status* status, int& library_code) {
  if (message.is_decoded()) return deliver(r, message, *status);
  r.ticket = message.ticket;
  if (message.arriving != MPI_REQUEST_NULL) {
    r.taken = std::move(message.data);
    library_code = PMPI_Wait(&message.arriving, status);
  } else {
    library_code = native::mrecv(r.buffer(), r.count(), r.type(), &message.matched, status);
  }
  return finish(r, *status, library_code);
}

}  // namespace

MPI_Request completed_request() {
  MPI_Request request = MPI_REQUEST_NULL;
  PMPI_Grequest_start(query, release, refuse, nullptr, &request);
  PMPI_Grequest_complete(request);
  return request;
}

int begin_extracted(Receive& r, std::unique_lock<Mutex>& matching, Extracted message, MPI_Request* request) {
  keep_apart(r);
  if (message.is_decoded()) {
    matching.unlock();
    r.error = deliver(r, message, r.status);
    r.state = Receive::State::finished;
    *request = completed_request();
    return MPI_SUCCESS;
  }
  int result = MPI_SUCCESS;
  if (message.arriving != MPI_REQUEST_NULL) {
    r.taken = std::move(message.data);
    *request = message.arriving;
  } else {
    result = native::imrecv(r.buffer(), r.count(), r.type(), &message.matched, request);
  }
  if (result == MPI_SUCCESS) list_receive(r, *request, message.ticket);
  matching.unlock();
  return result;
}

int receive_extracted(Receive& r, Extracted message, MPI_Status* status) {
  int library_code = MPI_SUCCESS;
  const int code = complete_extracted(r, std::move(message), status, library_code);
  return report(code, library_code, r.wanted.comm);
}

void receive_early(Messages& messages, Extracted& message) {
  Buffer data(static_cast<std::size_t>(message.bytes));
  const auto r = expect({data.data(), message.bytes, MPI_BYTE, message.source, message.tag, messages.comm()}, messages);
  MPI_Status status;
  int library_code = MPI_SUCCESS;
  message.error = complete_extracted(*r, std::move(message), &status, library_code);
  message.data = std::move(data);
  message.matched = MPI_MESSAGE_NULL;
  message.arriving = MPI_REQUEST_NULL;
}

void track_receive(std::unique_ptr<Receive> receive, MPI_Request request) {
  auto tracked = std::make_unique<Tracked>();
  tracked->handle = request;
  tracked->receive = std::move(receive);
  track(std::move(tracked));
}

namespace framed {

int recv(void* buf, std::int64_t count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  const TendAfter tend;
  auto receive = expect_if_needed({buf, count, type, source, tag, comm});
  if (!receive) return native::recv(buf, count, type, source, tag, comm, status);
  if (!framing_state.threads) return receive_here(*receive, status);
  MPI_Request request = MPI_REQUEST_NULL;
  const int result = post(std::move(receive), &request);
  return result == MPI_SUCCESS ? wait(&request, status) : result;
}

int irecv(void* buf, std::int64_t count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request) {
  auto receive = expect_if_needed({buf, count, type, source, tag, comm});
  if (!receive) return native::irecv(buf, count, type, source, tag, comm, request);
  return post(std::move(receive), request);
}

int recv_init(void* buf, std::int64_t count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request* request) {
  // Even a short one is tracked: when it starts, a probe may have taken its message out.
  const ReceiveArguments wanted{buf, count, type, source, tag, comm};
  Messages* const messages = messages_for(wanted);
  auto receive = messages != nullptr ? expect(wanted, *messages) : nullptr;
  if (!receive) {
    const int result = native::recv_init(buf, count, type, source, tag, comm, request);
    if (result == MPI_SUCCESS && source == MPI_PROC_NULL) track_idle(*request);
    return result;
  }
  const int result =
      native::recv_init(receive->buffer(), receive->count(), receive->type(), source, tag, comm, request);
  if (result != MPI_SUCCESS) return result;
  auto tracked = std::make_unique<Tracked>();
  tracked->persistent = true;
  tracked->active = false;
  tracked->handle = *request;
  tracked->receive = std::move(receive);
  track(std::move(tracked));
  return result;
}

}  // namespace framed
}  // namespace antiphon::mpi
