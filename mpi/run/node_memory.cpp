// SPDX-License-Identifier: Apache-2.0
#include "run/node_memory.hpp"

#include <algorithm>
#include <string>

#include "job/error_text.hpp"

namespace antiphon::mpi {

int NodeMemory::error_of_loss() {
  const auto mismatch = messenger_.mismatch();
  if (!mismatch) {
    static ErrorText lost(MPI_ERR_OTHER);
    return lost.code(
        "Antiphon: messages through shared memory are lost: a rank of this node has ended, or its memory cannot be "
        "read any more");
  }
  const auto rank = std::find(index_of_rank_.begin(), index_of_rank_.end(), mismatch->sender) - index_of_rank_.begin();
  return error_of_counts("rank " + std::to_string(rank) + " sent a message of " + std::to_string(mismatch->bytes.sent) +
                         " bytes, one of " + std::to_string(mismatch->bytes.awaited) + " was expected");
}

}  // namespace antiphon::mpi
