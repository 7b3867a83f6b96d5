// SPDX-License-Identifier: Apache-2.0
#include "entry/program_request.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "call/greatest_tag.hpp"
#include "entry/operations.hpp"
#include "job/own_comms.hpp"

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

}  // namespace

int ProgramRequest::take_tag(bool lasts) {
  const std::optional<int> tag = tags.take();
  if (!tag) return MPI_ERR_NO_MEM;
  tag_ = *tag;
  lasts_ = lasts;
  return MPI_SUCCESS;
}

int ProgramRequest::begin(MPI_Request* request) {
  if (const int rc = take_tag(false); rc != MPI_SUCCESS) return rc;
  return PMPI_Irecv(nullptr, 0, MPI_BYTE, 0, tag_, comm_of_self(), request);
}

int ProgramRequest::init(MPI_Request* request) {
  if (const int rc = take_tag(true); rc != MPI_SUCCESS) return rc;
  return PMPI_Recv_init(nullptr, 0, MPI_BYTE, 0, tag_, comm_of_self(), request);
}

void ProgramRequest::end(int rc) {
  const char too_long = 0;
  note_order();
  PMPI_Send(&too_long, rc == MPI_SUCCESS ? 0 : 1, MPI_BYTE, 0, tag_, comm_of_self());
  // The receive was posted before any that takes this tag next, so the message is its own.
  if (!lasts_) free();
}

void ProgramRequest::free() {
  if (tag_ != none) tags.give_back(std::exchange(tag_, none));
}

}  // namespace antiphon::mpi
