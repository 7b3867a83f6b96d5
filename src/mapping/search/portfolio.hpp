// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "antiphon/mapping.hpp"

namespace antiphon::mapping {

/// Antiphon's own mapping (docs/concepts/mapping.md). It tries several beginnings, Scotch's result among them where its
/// library is installed, and improves the best until the budget is spent.
Assignment search_portfolio(const Task& task, const Budget& budget, bool with_scotch);

}  // namespace antiphon::mapping
