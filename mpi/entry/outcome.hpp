// SPDX-License-Identifier: Apache-2.0
// What became of a call: done here, or why the library does it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string_view>

#include "entry/fate.hpp"
#include "observe/summary.hpp"

namespace antiphon::mpi {

class CommState;

struct Outcome {
  Fate fate = Fate::unseen;
  int result = MPI_SUCCESS;  ///< what the MPI function returns, if the call is done
  std::int64_t bytes = 0;    ///< what this rank hands in or gets, as far as it is known
  double began_s = 0;        ///< now_s(), if time is counted
  // The rest is for the summary.
  std::int64_t block_bytes = summary::unknown_bytes;
  std::string_view why = {};  ///< says more than reason_of(fate); valid until the communicator's next call
  CallName name = 0;
  std::int64_t ranks = 1;
  CommState* timed = nullptr;  ///< of a call that the library does while its time is wanted

  [[nodiscard]] bool done() const { return fate == Fate::done; }
};

}  // namespace antiphon::mpi
