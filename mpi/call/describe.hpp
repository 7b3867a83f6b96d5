// SPDX-License-Identifier: Apache-2.0
// From a call's arguments to its description, and to a problem in bytes.
#pragma once

#include "antiphon/problem.hpp"
#include "call/call.hpp"
#include "call/description.hpp"

namespace antiphon::mpi {

/// Describes a call that is no neighbour collective (Neighbours::spread makes an alltoallw of those).
Description describe(const Call& call, int rank, int size);

/// The description as a problem for builders, into a blank one. For alltoall(v) in place, as one that is not.
void make_problem(const Description& d, Problem& problem);

}  // namespace antiphon::mpi
