// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace antiphon {

/// A number that is never negative, such as a rank, a node or a link, as a container's index.
constexpr std::size_t at(int number) { return static_cast<std::size_t>(number); }

}  // namespace antiphon
