// SPDX-License-Identifier: Apache-2.0
#include "call/description.hpp"

namespace antiphon::mpi {

std::int64_t Side::total_bytes() const {
  if (types != nullptr) {
    std::int64_t bytes = 0;
    for (std::int64_t i = 0; i < blocks; ++i) bytes += block_bytes(i);
    return bytes;
  }
  std::int64_t elements = 0;
  for (std::int64_t i = 0; counts.present() && i < blocks; ++i) elements += counts[i];
  if (!counts.present()) elements = count * blocks;
  return elements * info.size_bytes;
}

}  // namespace antiphon::mpi
