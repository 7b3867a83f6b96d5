// SPDX-License-Identifier: Apache-2.0
// These are the point-to-point calls while messages may be framed. Names and arguments are the standard's, with 64-bit
// counts. Statuses are never MPI_STATUS(ES)_IGNORE. Those with a communicator may throw OutOfMemory.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "compress/framing.hpp"
#include "compress/native.hpp"
#include "compress/pool.hpp"

namespace antiphon::mpi::framed {

/// Runs a call of these, and makes of memory that is out an MPI error of the communicator: the caller may be in C.
template <class Run>
int guarded(MPI_Comm comm, Run&& run) {
  try {
    return run();
  } catch (const OutOfMemory&) {
  }
  const int handled = PMPI_Comm_call_errhandler(comm, MPI_ERR_NO_MEM);
  return handled != MPI_SUCCESS ? handled : MPI_ERR_NO_MEM;
}

int send_as(SendMode mode, const void* buf, std::int64_t count, MPI_Datatype type, int dest, int tag, MPI_Comm comm);
int isend_as(SendMode mode, const void* buf, std::int64_t count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
             MPI_Request* r);
int send_init_as(SendMode mode, const void* buf, std::int64_t count, MPI_Datatype type, int dest, int tag,
                 MPI_Comm comm, MPI_Request* r);

#define ANTIPHON_SENDS(letter, mode)                                                                       \
  inline int letter##send(const void* b, std::int64_t n, MPI_Datatype t, int to, int tag, MPI_Comm c) {    \
    return send_as(mode, b, n, t, to, tag, c);                                                             \
  }                                                                                                        \
  inline int i##letter##send(const void* b, std::int64_t n, MPI_Datatype t, int to, int tag, MPI_Comm c,   \
                             MPI_Request* r) {                                                             \
    return isend_as(mode, b, n, t, to, tag, c, r);                                                         \
  }                                                                                                        \
  inline int letter##send_init(const void* b, std::int64_t n, MPI_Datatype t, int to, int tag, MPI_Comm c, \
                               MPI_Request* r) {                                                           \
    return send_init_as(mode, b, n, t, to, tag, c, r);                                                     \
  }
ANTIPHON_SENDS(, SendMode::standard)
ANTIPHON_SENDS(b, SendMode::buffered)
ANTIPHON_SENDS(s, SendMode::synchronous)
ANTIPHON_SENDS(r, SendMode::ready)
#undef ANTIPHON_SENDS

int recv(void* buf, std::int64_t count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status);
int irecv(void* buf, std::int64_t count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request);
int recv_init(void* buf, std::int64_t count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request* request);
int mrecv(void* buf, std::int64_t count, MPI_Datatype type, MPI_Message* message, MPI_Status* status);
int imrecv(void* buf, std::int64_t count, MPI_Datatype type, MPI_Message* message, MPI_Request* request);

int sendrecv(const void* sendbuf, std::int64_t sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
             std::int64_t recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status* status);
int sendrecv_replace(void* buf, std::int64_t count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag,
                     MPI_Comm comm, MPI_Status* status);
int isendrecv(const void* sendbuf, std::int64_t sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
              std::int64_t recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
              MPI_Request* request);
int isendrecv_replace(void* buf, std::int64_t count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag,
                      MPI_Comm comm, MPI_Request* request);

int probe(int source, int tag, MPI_Comm comm, MPI_Status* status);
int iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status);
int mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status);
int improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status);

int start(MPI_Request* request);
int startall(int count, MPI_Request requests[]);
int wait(MPI_Request* request, MPI_Status* status);
int waitall(int count, MPI_Request requests[], MPI_Status statuses[]);
int waitany(int count, MPI_Request requests[], int* index, MPI_Status* status);
int waitsome(int incount, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[]);
int test(MPI_Request* request, int* flag, MPI_Status* status);
int testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]);
int testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status);
int testsome(int incount, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[]);
int cancel(MPI_Request* request);
int request_free(MPI_Request* request);
int request_get_status(MPI_Request request, int* flag, MPI_Status* status);
int request_get_status_all(int count, const MPI_Request requests[], int* flag, MPI_Status statuses[]);
int request_get_status_any(int count, const MPI_Request requests[], int* index, int* flag, MPI_Status* status);
int request_get_status_some(int incount, const MPI_Request requests[], int* outcount, int indices[],
                            MPI_Status statuses[]);

/// A message that a probe took out of the library has a handle that Antiphon makes. In Fortran it is a negative number.
bool is_own_message(MPI_Message message);
int own_message_to_fortran(MPI_Message message);
MPI_Message own_message_from_fortran(int message);

}  // namespace antiphon::mpi::framed
