// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <limits>

#include "compress/device_messages.hpp"
#include "compress/framed.hpp"
#include "compress/starting.hpp"
#include "compress/tracked.hpp"
#include "job/devices.hpp"

namespace antiphon::mpi {

namespace {

int receive(const ReceiveArguments& in, MPI_Status* status) {
  return framed::guarded(in.comm,
                         [&] { return framed::recv(in.buffer, in.count, in.type, in.peer, in.tag, in.comm, status); });
}

/// Receives first, so that the buffer is known before anything can arrive; the send is already under way.
int exchange(const ReceiveArguments& in, MPI_Request send, MPI_Status* status) {
  const int result = receive(in, status);
  const int sent = PMPI_Wait(&send, MPI_STATUS_IGNORE);
  return result != MPI_SUCCESS ? result : sent;
}

int sendrecv(const SendArguments& out, const ReceiveArguments& in, MPI_Status* status) {
  Parcel parcel;
  MPI_Request request = MPI_REQUEST_NULL;
  int result = MPI_SUCCESS;
  const bool frames = may_need_look(in) != nullptr;
  if (!start_framed(out, parcel, &request, result)) {
    if (!frames) {
      const bool small = native::small(out.count) && native::small(in.count);
#if ANTIPHON_HAS_LARGE_COUNT
      if (!small) {
        return PMPI_Sendrecv_c(out.buffer, out.count, out.type, out.peer, out.tag, in.buffer, in.count, in.type,
                               in.peer, in.tag, in.comm, status);
      }
#endif
      static_cast<void>(small);
      return PMPI_Sendrecv(out.buffer, static_cast<int>(out.count), out.type, out.peer, out.tag, in.buffer,
                           static_cast<int>(in.count), in.type, in.peer, in.tag, in.comm, status);
    }
    result = native::isend(SendMode::standard, out.buffer, out.count, out.type, out.peer, out.tag, out.comm, &request);
  }
  return result == MPI_SUCCESS ? exchange(in, request, status) : result;
}

/// Packs the program's message, so that its buffer can take the incoming one. Returns false if the library must do it.
bool copy_of(const SendArguments& out, Buffer& copy, std::int64_t& bytes) {
  TypeInfo info;
  if (out.count < 0 || !inspect(out.type, info)) return false;
  bytes = out.count * info.size_bytes;
  if (bytes > std::numeric_limits<int>::max() || (out.buffer == nullptr && info.contiguous)) return false;
  copy = Buffer(static_cast<std::size_t>(bytes));
  Buffer near;
  const void* from = out.buffer;
  if (bytes > 0 && is_device_memory(from)) {
    near = fetch_elements(from, out.count, info);
    if (!near) return false;
    from = elements_in(near, info);
  }
  return pack(from, out.count, out.type, info, copy.data()) == MPI_SUCCESS;
}

int library_isendrecv(const SendArguments& out, const ReceiveArguments& in, MPI_Request* request) {
#if ANTIPHON_HAS_LARGE_COUNT
  if (!native::small(out.count) || !native::small(in.count)) {
    return PMPI_Isendrecv_c(out.buffer, out.count, out.type, out.peer, out.tag, in.buffer, in.count, in.type, in.peer,
                            in.tag, in.comm, request);
  }
#endif
  return PMPI_Isendrecv(out.buffer, static_cast<int>(out.count), out.type, out.peer, out.tag, in.buffer,
                        static_cast<int>(in.count), in.type, in.peer, in.tag, in.comm, request);
}

/// Leaves a send of a copy to itself: the program need not wait for it.
void leave_alone(MPI_Request send, Parcel parcel) {
  auto rest = std::make_unique<Tracked>();
  rest->handle = send;
  rest->parcel = std::move(parcel);
  adopt_freed(std::move(rest));
}

/// Sends the message, and leaves that alone if it is or can be copied; else waits for it.
int send_copy(SendArguments out, Parcel parcel) {
  std::int64_t bytes = 0;
  bool copied = parcel.is_copy();
  if (!copied && copy_of(out, parcel.packed, bytes)) {
    copied = true;
    out.buffer = parcel.packed.data();
    out.count = bytes;
    out.type = MPI_BYTE;
  }
  MPI_Request send = MPI_REQUEST_NULL;
  const int result =
      native::isend(SendMode::standard, out.buffer, out.count, out.type, out.peer, out.tag, out.comm, &send);
  if (result != MPI_SUCCESS) return result;
  if (!copied) return PMPI_Wait(&send, MPI_STATUS_IGNORE);
  leave_alone(send, std::move(parcel));
  return MPI_SUCCESS;
}

/// Sends the message as it is and receives what may be a frame, with one request of the library for both. If a probe
/// has taken the message out, the program's request is that of the receive.
int send_plain_receive_frame(const SendArguments& out, std::unique_ptr<Receive> r, Parcel parcel,
                             MPI_Request* request) {
  std::unique_lock matching(r->messages->matching);
  if (Extracted message; take_extracted(*r->messages, r->wanted.peer, r->wanted.tag, message)) {
    const int begun = begin_extracted(*r, matching, std::move(message), request);
    if (begun != MPI_SUCCESS) return begun;
    track_receive(std::move(r), *request);
    return send_copy(out, std::move(parcel));
  }
  keep_apart(*r);
  const ReceiveArguments in{r->buffer(), r->count(), r->type(), r->wanted.peer, r->wanted.tag, r->wanted.comm};
  const int result = library_isendrecv(out, in, request);
  if (result != MPI_SUCCESS) return result;
  list_receive(*r, *request);
  matching.unlock();
  auto tracked = std::make_unique<Tracked>();
  tracked->parcel = std::move(parcel);
  tracked->handle = *request;
  tracked->receive = std::move(r);
  track(std::move(tracked));
  return MPI_SUCCESS;
}

/// The frame is a copy of the program's message, so the program's request need only be that of the receive.
int receive_after_frame(const ReceiveArguments& in, Parcel parcel, MPI_Request send, MPI_Request* request) {
  leave_alone(send, std::move(parcel));
  return framed::irecv(in.buffer, in.count, in.type, in.peer, in.tag, in.comm, request);
}

}  // namespace

namespace framed {

int sendrecv(const void* sendbuf, std::int64_t sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
             std::int64_t recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
             MPI_Status* status) {
  return mpi::sendrecv({SendMode::standard, sendbuf, sendcount, sendtype, dest, sendtag, comm},
                       {recvbuf, recvcount, recvtype, source, recvtag, comm}, status);
}

int sendrecv_replace(void* buf, std::int64_t count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag,
                     MPI_Comm comm, MPI_Status* status) {
  const ReceiveArguments in{buf, count, type, source, recvtag, comm};
  SendArguments out{SendMode::standard, buf, count, type, dest, sendtag, comm};
  Buffer copy;
  std::int64_t bytes = 0;
  Parcel parcel;
  MPI_Request request = MPI_REQUEST_NULL;
  int result = MPI_SUCCESS;
  if (start_framed(out, parcel, &request, result)) {
    return result == MPI_SUCCESS ? exchange(in, request, status) : result;
  }
  if (may_need_look(in) == nullptr || !copy_of(out, copy, bytes)) {
    return ANTIPHON_NATIVE(Sendrecv_replace, buf, count, type, dest, sendtag, source, recvtag, comm, status);
  }
  result = native::isend(SendMode::standard, copy.data(), bytes, MPI_BYTE, dest, sendtag, comm, &request);
  return result == MPI_SUCCESS ? exchange(in, request, status) : result;
}

int isendrecv(const void* sendbuf, std::int64_t sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
              std::int64_t recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
              MPI_Request* request) {
  const SendArguments out{SendMode::standard, sendbuf, sendcount, sendtype, dest, sendtag, comm};
  const ReceiveArguments in{recvbuf, recvcount, recvtype, source, recvtag, comm};
  Parcel parcel;
  MPI_Request send = MPI_REQUEST_NULL;
  int result = MPI_SUCCESS;
  if (start_framed(out, parcel, &send, result)) {
    return result == MPI_SUCCESS ? receive_after_frame(in, std::move(parcel), send, request) : result;
  }
  auto r = expect_if_needed(in);
  if (!r) return library_isendrecv(out, in, request);
  return send_plain_receive_frame(out, std::move(r), Parcel(), request);
}

int isendrecv_replace(void* buf, std::int64_t count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag,
                      MPI_Comm comm, MPI_Request* request) {
  SendArguments out{SendMode::standard, buf, count, type, dest, sendtag, comm};
  const ReceiveArguments in{buf, count, type, source, recvtag, comm};
  Parcel parcel;
  MPI_Request send = MPI_REQUEST_NULL;
  int result = MPI_SUCCESS;
  if (start_framed(out, parcel, &send, result)) {
    return result == MPI_SUCCESS ? receive_after_frame(in, std::move(parcel), send, request) : result;
  }
  auto r = expect_if_needed(in);
  std::int64_t bytes = 0;
  if (!r || !copy_of(out, parcel.packed, bytes)) {
    return ANTIPHON_NATIVE(Isendrecv_replace, buf, count, type, dest, sendtag, source, recvtag, comm, request);
  }
  out.buffer = parcel.packed.data();
  out.count = bytes;
  out.type = MPI_BYTE;
  return send_plain_receive_frame(out, std::move(r), std::move(parcel), request);
}

}  // namespace framed
}  // namespace antiphon::mpi
