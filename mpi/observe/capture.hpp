// SPDX-License-Identifier: Apache-2.0
// Keeps the messages that a program sends, for `antiphon compress-test` and `antiphon bench codecs`
// (docs/reference/message-files.md).
#pragma once

namespace antiphon::mpi {

/// Call this after MPI_Init. If ANTIPHON_CAPTURE names a directory, this rank's point-to-point messages of 1 KiB and
/// more go into DIRECTORY/rank-N.msgs, up to ANTIPHON_CAPTURE_MBYTES (64) MiB. The messages themselves do not change,
/// so ranks need not agree on it.
void start_capture();
/// Call this before MPI_Finalize.
void stop_capture();

}  // namespace antiphon::mpi
