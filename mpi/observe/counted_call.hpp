// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "observe/arrivals.hpp"

namespace antiphon::mpi::summary {

/// The size of a block whose size this rank does not know.
inline constexpr std::int64_t unknown_bytes = -1;

/// Holds one call that is over, for the summary.
struct CountedCall {
  int kind = 0;                              ///< kind_of()
  std::int64_t block_bytes = unknown_bytes;  ///< as Question::bytes; this rank's mean block where blocks differ
  std::int64_t bytes = 0;                    ///< what this rank hands in or, at a receiver, gets
  std::string_view used;                     ///< what did the call
  std::string_view reason;                   ///< why the library did it; empty if it did not
  CallName name = 0;                         ///< 0 if the ranks' arrivals cannot be compared
  std::int64_t ranks = 1;                    ///< of the communicator
  double began_s = 0;
  double ended_s = 0;
};

}  // namespace antiphon::mpi::summary
