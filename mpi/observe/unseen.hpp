// SPDX-License-Identifier: Apache-2.0
// Says what hides a program's calls from this object, or this object's work from a tool.
#pragma once

namespace antiphon::mpi {

/// Notes that MPI_Init was seen. A process that asks for a summary and ends without that is told so.
void note_start();
/// Names tools that see only a part of the program's calls; on rank 0.
void report_tools();

}  // namespace antiphon::mpi
