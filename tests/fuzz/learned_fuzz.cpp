// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!antiphon::fuzz::learned(text)) std::abort();
  return 0;
}
