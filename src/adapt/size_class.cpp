// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "antiphon/adapt.hpp"

namespace antiphon {

SizeClass SizeClass::of(std::int64_t bytes) {
  if (bytes <= 0) return {bytes, bytes};
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(bytes)));
  const std::int64_t middle = power + power / 2;
  return bytes < middle ? SizeClass{power, middle - 1} : SizeClass{middle, power - 1 + power};
}

}  // namespace antiphon
