// SPDX-License-Identifier: Apache-2.0
// How ranks of MPICH wait on a node that has more ranks than cores: its collectives in shared memory poll without
// giving the core away, so that a rank which could go on waits until the others have used up their time.
#pragma once

#include <optional>

#include "job/library_parameter.hpp"

namespace antiphon::mpi {

/// Returns what lets MPICH's waiting ranks give their core away after some looks in vain, where this node has more
/// ranks than cores and the user has set no parameter of this kind. Nothing: there are enough cores, or nobody says how
/// many ranks there are, or the library has no such parameter.
std::optional<LibraryParameter> for_crowded_node();

}  // namespace antiphon::mpi
