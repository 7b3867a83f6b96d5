// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace antiphon::mpi {

/// Tells, by what launchers set, whether this is the first process of its job: where MPI cannot be asked, it alone
/// speaks.
bool is_first_process();

}  // namespace antiphon::mpi
