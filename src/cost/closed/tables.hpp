// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cost/closed/terms.hpp"

namespace antiphon::closed {

/// Paper 5, Table 2 holds for scatter and gather alike.
double one_to_each_flat(const ClosedFormCall& c, const LinkClass& l);
double one_to_each_chain(const ClosedFormCall& c, const LinkClass& l);
double one_to_each_pipelined(const ClosedFormCall& c, const LinkClass& l);
double one_to_each_binomial(const ClosedFormCall& c, const LinkClass& l);

}  // namespace antiphon::closed
