// SPDX-License-Identifier: Apache-2.0
// These functions turn a call's arguments into a description, and that into a problem in bytes.
#pragma once

#include "antiphon/problem.hpp"
#include "call/call.hpp"
#include "call/description.hpp"

namespace antiphon::mpi {

/// Describes a call that is not a neighbour collective (Neighbours::spread turns those into an alltoallw).
Description describe(const Call& call, int rank, int size);

/// Returns the size of a block as Question::bytes has it or, where blocks differ or only this rank knows them, the mean
/// of this rank's; of a neighbour collective, of those for neighbours. −1 if the call says no size.
std::int64_t mean_block_bytes(const Description& d, bool of_neighbours);

/// Fills a blank problem for builders from the description. An alltoall(v) in place becomes a problem that is not in
/// place.
void make_problem(const Description& d, Problem& problem);

}  // namespace antiphon::mpi
