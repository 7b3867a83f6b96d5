// SPDX-License-Identifier: Apache-2.0
#include "entry/program_request.hpp"

#include <atomic>
#include <optional>

#include "entry/operations.hpp"

#if defined(__SANITIZE_THREAD__)
#include <unistd.h>

extern "C" void __tsan_release(void* address);
#endif

namespace antiphon::mpi {

namespace {

/// Tells the thread sanitizer what MPI orders, and what it cannot see in a library that is not compiled for it: all
/// before the end of a request comes before what follows its completion. tests/tsan/mpi_order.c has the other side.
void note_order() {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(&environ);
#endif
}

/// Messages are matched by tags below this number: even ones for persistent requests, which last, odd ones for others.
constexpr unsigned most_tags = 32768;
std::atomic<unsigned> next_passing{0}, next_lasting{0};

/// Has one rank; made for the first request, and before that nothing: the library's constants may not be known yet. The
/// operations' Lock protects it.
std::optional<MPI_Comm> self;

int make_self() {
  const operations::Lock lock;
  if (self) return MPI_SUCCESS;
  MPI_Comm made = MPI_COMM_NULL;
  const int rc = PMPI_Comm_dup(MPI_COMM_SELF, &made);
  if (rc != MPI_SUCCESS) return rc;
  self = made;
  return PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
}

}  // namespace

int ProgramRequest::begin(MPI_Request* request) {
  if (const int rc = make_self(); rc != MPI_SUCCESS) return rc;
  tag_ = static_cast<int>((2 * next_passing++ + 1) % most_tags);
  return PMPI_Irecv(nullptr, 0, MPI_BYTE, 0, tag_, *self, request);
}

int ProgramRequest::init(MPI_Request* request) {
  if (const int rc = make_self(); rc != MPI_SUCCESS) return rc;
  tag_ = static_cast<int>(2 * next_lasting++ % most_tags);
  return PMPI_Recv_init(nullptr, 0, MPI_BYTE, 0, tag_, *self, request);
}

void ProgramRequest::end(int rc) const {
  const char too_long = 0;
  note_order();
  PMPI_Send(&too_long, rc == MPI_SUCCESS ? 0 : 1, MPI_BYTE, 0, tag_, *self);
}

void ProgramRequest::release() {
  if (self) PMPI_Comm_free(&*self);
  self.reset();
}

}  // namespace antiphon::mpi
