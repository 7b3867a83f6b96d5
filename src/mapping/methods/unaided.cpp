// SPDX-License-Identifier: Apache-2.0
#include "mapping/search/portfolio.hpp"

namespace antiphon::mapping::method_unaided {

namespace {

Assignment place(const Task& task, const Budget& budget) { return search_portfolio(task, budget, false); }

}  // namespace

extern const Method method{"unaided", "antiphon without Scotch, installed or not", nullptr, place};

}  // namespace antiphon::mapping::method_unaided
