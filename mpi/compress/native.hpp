// SPDX-License-Identifier: Apache-2.0
// These are the library's point-to-point functions, with 64-bit counts and the kind of send as an argument.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <limits>

namespace antiphon::mpi {

enum class SendMode : std::uint8_t { standard, buffered, synchronous, ready };

namespace native {

inline bool small(std::int64_t count) { return count <= std::numeric_limits<int>::max(); }

/// Calls NAME(buffer, count, …), the large-count function only if the count needs it (Open MPI lacks both).
#if ANTIPHON_HAS_LARGE_COUNT
#define ANTIPHON_NATIVE(name, buffer, count, ...)                                                    \
  (::antiphon::mpi::native::small(count) ? PMPI_##name(buffer, static_cast<int>(count), __VA_ARGS__) \
                                         : PMPI_##name##_c(buffer, count, __VA_ARGS__))
#else
#define ANTIPHON_NATIVE(name, buffer, count, ...) PMPI_##name(buffer, static_cast<int>(count), __VA_ARGS__)
#endif

inline int send(SendMode mode, const void* b, std::int64_t n, MPI_Datatype t, int to, int tag, MPI_Comm c) {
  switch (mode) {
    case SendMode::buffered: return ANTIPHON_NATIVE(Bsend, b, n, t, to, tag, c);
    case SendMode::synchronous: return ANTIPHON_NATIVE(Ssend, b, n, t, to, tag, c);
    case SendMode::ready: return ANTIPHON_NATIVE(Rsend, b, n, t, to, tag, c);
    case SendMode::standard: break;
  }
  return ANTIPHON_NATIVE(Send, b, n, t, to, tag, c);
}

inline int isend(SendMode mode, const void* b, std::int64_t n, MPI_Datatype t, int to, int tag, MPI_Comm c,
                 MPI_Request* r) {
  switch (mode) {
    case SendMode::buffered: return ANTIPHON_NATIVE(Ibsend, b, n, t, to, tag, c, r);
    case SendMode::synchronous: return ANTIPHON_NATIVE(Issend, b, n, t, to, tag, c, r);
    case SendMode::ready: return ANTIPHON_NATIVE(Irsend, b, n, t, to, tag, c, r);
    case SendMode::standard: break;
  }
  return ANTIPHON_NATIVE(Isend, b, n, t, to, tag, c, r);
}

inline int send_init(SendMode mode, const void* b, std::int64_t n, MPI_Datatype t, int to, int tag, MPI_Comm c,
                     MPI_Request* r) {
  switch (mode) {
    case SendMode::buffered: return ANTIPHON_NATIVE(Bsend_init, b, n, t, to, tag, c, r);
    case SendMode::synchronous: return ANTIPHON_NATIVE(Ssend_init, b, n, t, to, tag, c, r);
    case SendMode::ready: return ANTIPHON_NATIVE(Rsend_init, b, n, t, to, tag, c, r);
    case SendMode::standard: break;
  }
  return ANTIPHON_NATIVE(Send_init, b, n, t, to, tag, c, r);
}

inline int recv(void* b, std::int64_t n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status* s) {
  return ANTIPHON_NATIVE(Recv, b, n, t, from, tag, c, s);
}
inline int irecv(void* b, std::int64_t n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* r) {
  return ANTIPHON_NATIVE(Irecv, b, n, t, from, tag, c, r);
}
inline int recv_init(void* b, std::int64_t n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* r) {
  return ANTIPHON_NATIVE(Recv_init, b, n, t, from, tag, c, r);
}
inline int mrecv(void* b, std::int64_t n, MPI_Datatype t, MPI_Message* m, MPI_Status* s) {
  return ANTIPHON_NATIVE(Mrecv, b, n, t, m, s);
}
inline int imrecv(void* b, std::int64_t n, MPI_Datatype t, MPI_Message* m, MPI_Request* r) {
  return ANTIPHON_NATIVE(Imrecv, b, n, t, m, r);
}

}  // namespace native
}  // namespace antiphon::mpi
