// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "antiphon/problem.hpp"

namespace antiphon {

/// scatter, scatterv: the root's blocks as one message (paper 1, §4.1: "aggregated"), of which each rank keeps its own.
/// `members`: all ranks that take the message, in ascending order, the root among them. Parameters segment_bytes,
/// window.
Schedule scatter_multicast(const Problem& p, std::vector<std::int32_t> members);

}  // namespace antiphon
