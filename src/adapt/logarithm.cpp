// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cstdint>

#include "antiphon/adapt.hpp"

namespace antiphon {

namespace {

constexpr double ln_2 = 0.69314718055994530942;

}  // namespace

double log2_alike(double value) {
  constexpr int fraction_bits = 52;
  constexpr std::uint64_t one = std::uint64_t{1023} << fraction_bits;
  constexpr std::uint64_t fraction = (std::uint64_t{1} << fraction_bits) - 1;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const double mantissa = std::bit_cast<double>((bits & fraction) | one);  // 1 to 2
  // The series of the inverse hyperbolic tangent; the argument is at most a third.
  const double z = (mantissa - 1) / (mantissa + 1);
  double sum = 0;
  for (int term = 27; term >= 1; term -= 2) sum = sum * z * z + 1.0 / term;
  return static_cast<double>(static_cast<int>(bits >> fraction_bits) - 1023) + 2 * z * sum / ln_2;
}

double exp2_alike(double octaves) {
  const double whole = std::floor(octaves);
  const double x = (octaves - whole) * ln_2;
  double sum = 1;
  for (int term = 16; term >= 1; --term) sum = 1 + sum * x / term;
  return std::ldexp(sum, static_cast<int>(whole));
}

}  // namespace antiphon
