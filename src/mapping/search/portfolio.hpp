// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "antiphon/mapping.hpp"

namespace antiphon::mapping {

/// Antiphon's own mapping (docs/concepts/mapping.md): several ways to begin, the best of them improved until the budget
/// is spent. With Scotch's result as one of them where its library is installed.
Assignment search_portfolio(const Task& task, const Budget& budget, bool with_scotch);

}  // namespace antiphon::mapping
