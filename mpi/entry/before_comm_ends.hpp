// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace antiphon::mpi {

/// Is called, if it is set, when a communicator that has a state is freed.
inline std::atomic<void (*)()> before_comm_ends{nullptr};

}  // namespace antiphon::mpi
