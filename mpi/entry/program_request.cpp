// SPDX-License-Identifier: Apache-2.0
#include "entry/program_request.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "call/greatest_tag.hpp"
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

/// A tag tells the message that ends a request from those that end others.
class Tags {
 public:
  /// Returns a tag that no request has, or nothing if the library has no more.
  std::optional<int> take() {
    const operations::Lock lock;
    if (free_.empty()) return next_ <= greatest_tag() ? std::optional(next_++) : std::nullopt;
    const int tag = free_.back();
    free_.pop_back();
    return tag;
  }
  void give_back(int tag) {
    const operations::Lock lock;
    free_.push_back(tag);
  }

 private:
  std::vector<int> free_;
  int next_ = 0;
};

/// It is never destroyed: requests may outlive the program's main().
auto& tags = *new Tags;

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

int ProgramRequest::take_tag(bool lasts) {
  if (const int rc = make_self(); rc != MPI_SUCCESS) return rc;
  const std::optional<int> tag = tags.take();
  if (!tag) return MPI_ERR_NO_MEM;
  tag_ = *tag;
  lasts_ = lasts;
  return MPI_SUCCESS;
}

int ProgramRequest::begin(MPI_Request* request) {
  if (const int rc = take_tag(false); rc != MPI_SUCCESS) return rc;
  return PMPI_Irecv(nullptr, 0, MPI_BYTE, 0, tag_, *self, request);
}

int ProgramRequest::init(MPI_Request* request) {
  if (const int rc = take_tag(true); rc != MPI_SUCCESS) return rc;
  return PMPI_Recv_init(nullptr, 0, MPI_BYTE, 0, tag_, *self, request);
}

void ProgramRequest::end(int rc) {
  const char too_long = 0;
  note_order();
  PMPI_Send(&too_long, rc == MPI_SUCCESS ? 0 : 1, MPI_BYTE, 0, tag_, *self);
  // The receive was posted before any that takes this tag next, so the message is its own.
  if (!lasts_) free();
}

void ProgramRequest::free() {
  if (tag_ != none) tags.give_back(std::exchange(tag_, none));
}

void ProgramRequest::release() {
  if (self) PMPI_Comm_free(&*self);
  self.reset();
}

}  // namespace antiphon::mpi
