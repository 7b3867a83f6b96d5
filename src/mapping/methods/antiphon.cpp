// SPDX-License-Identifier: Apache-2.0
#include "mapping/search/portfolio.hpp"

namespace antiphon::mapping::method_antiphon {

namespace {

Assignment place(const Task& task, const Budget& budget) { return search_portfolio(task, budget, true); }

}  // namespace

extern const Method method{"antiphon",
                           "regular orders, dual recursive bisection, annealing of nodes and ranks; never worse than "
                           "block and cyclic; with Scotch as a beginning if installed",
                           nullptr, place};

}  // namespace antiphon::mapping::method_antiphon
