// SPDX-License-Identifier: Apache-2.0
// How much may be under way in an exchange by credit.
#pragma once

#include "antiphon/algorithm.hpp"
#include "antiphon/credit.hpp"

namespace antiphon::mpi {

/// Returns the limits that parameters of the credit algorithm stand for.
CreditLimits credit_limits(const Parameters& credit);
/// Returns the limits of an exchange in step among so many ranks: pieces as long as in the phases, and as many under
/// way. Each node's port is shared by `ranks_per_node` ranks of the job.
CreditLimits in_step_limits(const Parameters& credit, const Parameters& phases, int ranks, int ranks_per_node);

}  // namespace antiphon::mpi
