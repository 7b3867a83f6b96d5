// SPDX-License-Identifier: Apache-2.0
#include "codec_target.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (!antiphon::fuzz::codec_frame({data, size})) std::abort();
  return 0;
}
