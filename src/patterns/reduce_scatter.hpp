// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "antiphon/problem.hpp"
#include "patterns/halving.hpp"

namespace antiphon {

/// Copies `result`, which is there after `since`, to the output. In place the output overlaps the input, so that the
/// copy also waits for `readers`, the operations that still read the input.
void copy_to_output(Schedule& s, const Problem& p, const Range& result, OpId since, const std::vector<OpId>& readers);

/// An acting rank (see Folding) has `kept` its own block and that of the rank for which it acts: sends the latter.
/// Returns where its own block is.
Range give_pair_its_block(Schedule& s, const Problem& p, const Partial& kept, const Cut& cut);

}  // namespace antiphon
