// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "dfcm_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (!antiphon::fuzz::dfcm({data, size})) std::abort();
  return 0;
}
