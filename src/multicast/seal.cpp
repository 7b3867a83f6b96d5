// SPDX-License-Identifier: Apache-2.0
#include "multicast/seal.hpp"

#include <algorithm>
#include <vector>

#include "multicast/bytes.hpp"

namespace antiphon::multicast {

extern const Seal::Function seal_portable;
#if defined(__x86_64__)
extern const Seal::Function seal_sse41;
#endif

std::span<const Seal::Function> Seal::functions() {
  static const std::vector<Function> all = [] {
    std::vector<Function> found{seal_portable};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.1")) found.push_back(seal_sse41);
#endif
    return found;
  }();
  return all;
}

Seal::Seal(std::span<const std::uint8_t, 32> key) : function_(functions().back()) {
  for (std::size_t i = 0; i < key_.size(); ++i)
    key_[i] = get<std::uint64_t>(reinterpret_cast<const std::byte*>(key.data()) + 8 * i);
}

bool ReplayWindow::take(std::uint64_t counter) {
  if (counter == 0 || counter + bits <= highest_) return false;
  if (counter > highest_) {
    if (counter - highest_ >= bits) {
      seen_.reset();
    } else {
      for (std::uint64_t i = highest_ + 1; i < counter; ++i) seen_.reset(i % bits);
    }
    highest_ = counter;
  } else if (seen_.test(counter % bits)) {
    return false;
  }
  seen_.set(counter % bits);
  return true;
}

}  // namespace antiphon::multicast
