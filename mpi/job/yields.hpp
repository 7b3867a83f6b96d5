// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace antiphon::mpi {

/// Says who gives the core away to other ranks while nothing moves. Where both did, ranks that share a core would have
/// two turns each before a message is seen.
enum class Yields : std::uint8_t {
  nobody,
  here,     ///< who waits, after each look
  library,  ///< the library's test functions; who waits does so after looks elsewhere
};

}  // namespace antiphon::mpi
