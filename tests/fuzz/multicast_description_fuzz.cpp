// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "multicast_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (!antiphon::fuzz::multicast_description(std::string_view(reinterpret_cast<const char*>(data), size))) std::abort();
  return 0;
}
