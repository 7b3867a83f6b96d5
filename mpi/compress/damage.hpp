// SPDX-License-Identifier: Apache-2.0
// Frames that are damaged on their way become MPI errors that name their channel. A test damages them.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>
#include <string>

#include "antiphon/codec.hpp"

namespace antiphon::mpi {

/// Says on standard error what is wrong with a frame of this communicator, and returns an MPI error code with the same
/// text. `channel` is what distinguishes its messages there: "rank 3, tag 7".
int damaged_frame(MPI_Comm comm, const std::string& channel, codec::Error error);

/// For tests (ANTIPHON_COMPRESS_DAMAGE): flips a bit of every so many-th frame, a different one each time. Call it when
/// all checksums are made; the frame is what the wire carries.
void damage_for_test(std::span<std::byte> frame);

}  // namespace antiphon::mpi
