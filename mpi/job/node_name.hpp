// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace antiphon::mpi {

/// Returns the name that this process's machine has.
std::string host_name();

/// Returns a text that is the same for processes that share memory, and only for these. Machines of one name differ in
/// their boots, and MPICH without local communication takes each process for a node.
std::string node_name();

}  // namespace antiphon::mpi
