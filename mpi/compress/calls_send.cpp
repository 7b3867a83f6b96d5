// SPDX-License-Identifier: Apache-2.0
#include "compress/framed.hpp"
#include "compress/outgoing.hpp"
#include "compress/starting.hpp"
#include "compress/tracked.hpp"

namespace antiphon::mpi {

void keep_until_sent(Parcel parcel, MPI_Request request) {
  int done = 0;
  // The send is often complete already, and then a library may give one handle to several sends.
  if (PMPI_Request_get_status(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done != 0) return;
  auto tracked = std::make_unique<Tracked>();
  tracked->handle = request;
  tracked->parcel = std::move(parcel);
  track(std::move(tracked));
}

bool start_framed(const SendArguments& message, Parcel& parcel, MPI_Request* request, int& result) {
  int failure = MPI_SUCCESS;
  {
    const outgoing::Prepared prepared(message, parcel);
    if (prepared.as_it_is()) return false;
    failure = prepared.wire().code;
    if (failure == MPI_SUCCESS) result = post(prepared.wire(), message, request);
  }
  // The error handler may never return, so no lock is held any more.
  if (failure != MPI_SUCCESS) result = report(failure, MPI_SUCCESS, message.comm);
  return true;
}

Started start_held(const SendArguments& m, bool waits, Parcel& parcel, MPI_Request* request) {
  if (framing()) {
    try {
      const outgoing::Prepared prepared(m, parcel, waits);
      if (prepared.comes_too_early()) return {};
      const Wire& wire = prepared.wire();
      if (wire.code != MPI_SUCCESS) return {true, wire.code};
      if (!prepared.as_it_is()) return {true, post(wire, m, request), wire.bytes};
    } catch (const OutOfMemory&) {
      return {true, MPI_ERR_NO_MEM};
    }
  }
  return {true, native::isend(m.mode, m.buffer, m.count, m.type, m.peer, m.tag, m.comm, request)};
}

namespace framed {

int send_as(SendMode mode, const void* buf, std::int64_t count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  tend_freed(false);
  Parcel parcel;
  MPI_Request request = MPI_REQUEST_NULL;
  int result = MPI_SUCCESS;
  if (!start_framed({mode, buf, count, type, dest, tag, comm}, parcel, &request, result)) {
    return native::send(mode, buf, count, type, dest, tag, comm);
  }
  return result == MPI_SUCCESS ? PMPI_Wait(&request, MPI_STATUS_IGNORE) : result;
}

int isend_as(SendMode mode, const void* buf, std::int64_t count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
             MPI_Request* request) {
  tend_freed(false);
  Parcel parcel;
  int result = MPI_SUCCESS;
  if (!start_framed({mode, buf, count, type, dest, tag, comm}, parcel, request, result)) {
    return native::isend(mode, buf, count, type, dest, tag, comm, request);
  }
  if (result == MPI_SUCCESS) keep_until_sent(std::move(parcel), *request);
  return result;
}

int send_init_as(SendMode mode, const void* buf, std::int64_t count, MPI_Datatype type, int dest, int tag,
                 MPI_Comm comm, MPI_Request* request) {
  const int result = native::send_init(mode, buf, count, type, dest, tag, comm, request);
  const SendArguments message{mode, buf, count, type, dest, tag, comm};
  if (result == MPI_SUCCESS && dest == MPI_PROC_NULL) track_idle(*request);
  auto tracked = std::make_unique<Tracked>();
  if (result != MPI_SUCCESS || !worth_tracking(message, tracked->info)) return result;
  tracked->persistent = true;
  tracked->active = false;
  tracked->handle = *request;
  tracked->sends = message;
  tracked->sends.info = &tracked->info;
  tracked->own_type = OwnType(type);
  tracked->sends.type = tracked->own_type.get();
  track(std::move(tracked));
  return result;
}

}  // namespace framed
}  // namespace antiphon::mpi
