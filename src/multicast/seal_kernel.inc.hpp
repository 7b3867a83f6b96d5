// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set; the compiler's options choose it, and HH_TARGET follows them.
#include "multicast/seal.hpp"

#include <highwayhash/highwayhash.h>

namespace antiphon::multicast {

namespace {

std::uint64_t hash(const Key& key, std::span<const std::byte> head, std::span<const std::byte> rest) {
  HH_ALIGNAS(32) const highwayhash::HHKey aligned = {key[0], key[1], key[2], key[3]};
  highwayhash::HighwayHashCatT<HH_TARGET> state(aligned);
  state.Append(reinterpret_cast<const char*>(head.data()), head.size());
  state.Append(reinterpret_cast<const char*>(rest.data()), rest.size());
  highwayhash::HHResult64 result;
  state.Finalize(&result);
  return result;
}

}  // namespace

}  // namespace antiphon::multicast
